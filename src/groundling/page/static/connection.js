// The websocket connection to the server: numbered requests, and automatic reconnection.

const FIRST_RETRY_MS = 300;
const MAX_RETRY_MS = 5000;
const REQUEST_TIMEOUT_MS = 2000;
const GOING_AWAY = 1001;

export class Connection {
  /**
   * `onhello(hello)` is called at each connection; `onstate(state)` with "connected" or an error message.
   * @param {(hello: import("./types").Hello) => void} onhello
   * @param {(state: string) => void} onstate
   */
  constructor(onhello, onstate) {
    this.onhello = onhello;
    this.onstate = onstate;
    this.lastId = 0;
    /** @type {Map<number, { resolve: (reply: any) => void, reject: (error: Error) => void }>} without a reply yet */
    this.pending = new Map();
    /** @type {(() => void)[]} made while there is no connection */
    this.queued = [];
    this.isConnected = false;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.isIdle = false; // closed by the server because of inactivity
    this.retryMs = FIRST_RETRY_MS;
    this.#connect();
  }

  #connect() {
    this.isIdle = false;
    const address = new URL("/ws", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(address);
    this.socket.addEventListener("message", (event) => this.#receive(JSON.parse(event.data)));
    this.socket.addEventListener("close", (event) => this.#closed(event));
  }

  /** @param {any} message */
  #receive(message) {
    if (message.hello) {
      this.retryMs = FIRST_RETRY_MS;
      this.isConnected = true;
      this.onstate("connected");
      this.onhello(message.hello);
      for (const send of this.queued.splice(0)) send();
      return;
    }
    const { id, error, ...result } = message;
    const request = this.pending.get(id);
    this.pending.delete(id);
    if (error !== undefined) request?.reject(new Error(error));
    else request?.resolve(result);
  }

  /** @param {CloseEvent} event */
  #closed(event) {
    this.isConnected = false;
    if (event.code === GOING_AWAY && event.reason.startsWith("idle")) {
      this.isIdle = true; // reconnect at the next request only, since the server may be full
      this.onstate("Disconnected while idle; the next request reconnects.");
      return;
    }
    const why = event.reason ? `Not connected (${event.reason})` : "The server cannot be reached";
    this.onstate(`${why}. Reconnecting …`);
    for (const { reject } of this.pending.values()) reject(new Error("the connection was lost; try again"));
    this.pending.clear();
    setTimeout(() => this.#connect(), this.retryMs);
    this.retryMs = Math.min(2 * this.retryMs, MAX_RETRY_MS);
  }

  /**
   * Resolves to the server's reply; rejects with its error, or if there is no connection before the timeout.
   * @param {string} name
   * @param {Record<string, unknown>} [fields]
   * @returns {Promise<any>}
   */
  request(name, fields = {}) {
    return new Promise((resolve, reject) => {
      const send = () => {
        this.lastId += 1;
        this.pending.set(this.lastId, { resolve, reject });
        this.socket?.send(JSON.stringify({ id: this.lastId, request: name, ...fields }));
      };
      if (this.isConnected) {
        send();
        return;
      }
      if (this.isIdle) this.#connect();
      this.queued.push(send);
      setTimeout(() => {
        if (!this.queued.includes(send)) return;
        this.queued.splice(this.queued.indexOf(send), 1);
        reject(new Error("there is no connection to the server; try again in a moment"));
      }, REQUEST_TIMEOUT_MS);
    });
  }
}
