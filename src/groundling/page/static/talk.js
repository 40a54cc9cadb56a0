// The connection to the server: numbered requests, and a new try whenever it is lost.

const FIRST_WAIT = 300;
const LONGEST_WAIT = 5000;

export class Talk {
  /** `onhello(hello)` at each connection; `onstate("connected" or a sentence that says why not)`. */
  constructor(onhello, onstate) {
    this.onhello = onhello;
    this.onstate = onstate;
    this.number = 0;
    this.waiting = new Map();
    this.wait = FIRST_WAIT;
    this.#connect();
  }

  #connect() {
    const address = new URL("/talk", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(address);
    this.socket.addEventListener("message", (event) => this.#hear(JSON.parse(event.data)));
    this.socket.addEventListener("close", (event) => this.#lost(event));
  }

  #hear(message) {
    if (message.hello) {
      this.wait = FIRST_WAIT;
      this.onstate("connected");
      this.onhello(message.hello);
      return;
    }
    const { id, error, ...result } = message;
    const { resolve, reject } = this.waiting.get(id) ?? {};
    this.waiting.delete(id);
    if (error !== undefined) reject?.(new Error(error));
    else resolve?.(result);
  }

  #lost(event) {
    this.onstate(event.reason ? `Not connected (${event.reason}). Trying again …` : "The server cannot be reached. Trying again …");
    for (const { reject } of this.waiting.values()) reject(new Error("the connection was lost; try again"));
    this.waiting.clear();
    setTimeout(() => this.#connect(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  /** Resolves to the server's answer; rejects with its complaint. */
  request(what, fields = {}) {
    return new Promise((resolve, reject) => {
      if (this.socket.readyState !== WebSocket.OPEN) {
        reject(new Error("there is no connection to the server; try again in a moment"));
        return;
      }
      this.number += 1;
      this.waiting.set(this.number, { resolve, reject });
      this.socket.send(JSON.stringify({ id: this.number, do: what, ...fields }));
    });
  }
}
