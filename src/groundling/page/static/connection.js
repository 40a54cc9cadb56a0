// The connection to the server: numbered requests, and a new try whenever it is lost.

const FIRST_WAIT = 300;
const LONGEST_WAIT = 5000;
const PATIENCE = 2000;
const GOING_AWAY = 1001;

export class Talk {
  /** `onhello(hello)` at each connection; `onstate("connected" or a sentence that says why not)`. */
  constructor(onhello, onstate) {
    this.onhello = onhello;
    this.onstate = onstate;
    this.number = 0;
    this.waiting = new Map();
    this.held = []; // requests made while there is no connection
    this.greeted = false;
    this.asleep = false;
    this.wait = FIRST_WAIT;
    this.#connect();
  }

  #connect() {
    this.asleep = false;
    const address = new URL("/talk", location.href);
    address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
    this.socket = new WebSocket(address);
    this.socket.addEventListener("message", (event) => this.#hear(JSON.parse(event.data)));
    this.socket.addEventListener("close", (event) => this.#lost(event));
  }

  #hear(message) {
    if (message.hello) {
      this.wait = FIRST_WAIT;
      this.greeted = true;
      this.onstate("connected");
      this.onhello(message.hello);
      for (const send of this.held.splice(0)) send();
      return;
    }
    const { id, error, ...result } = message;
    const { resolve, reject } = this.waiting.get(id) ?? {};
    this.waiting.delete(id);
    if (error !== undefined) reject?.(new Error(error));
    else resolve?.(result);
  }

  #lost(event) {
    this.greeted = false;
    if (event.code === GOING_AWAY && event.reason.startsWith("idle")) {
      this.asleep = true; // the server has others to serve: it is called again when there is something to say
      this.onstate("Resting until you say something.");
      return;
    }
    const why = event.reason ? `Not connected (${event.reason})` : "The server cannot be reached";
    this.onstate(`${why}. Trying again …`);
    for (const { reject } of this.waiting.values()) reject(new Error("the connection was lost; try again"));
    this.waiting.clear();
    setTimeout(() => this.#connect(), this.wait);
    this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
  }

  /** Resolves to the server's answer; rejects with its complaint, or if there is no connection for a while. */
  request(what, fields = {}) {
    return new Promise((resolve, reject) => {
      const send = () => {
        this.number += 1;
        this.waiting.set(this.number, { resolve, reject });
        this.socket.send(JSON.stringify({ id: this.number, do: what, ...fields }));
      };
      if (this.greeted) {
        send();
        return;
      }
      if (this.asleep) this.#connect();
      this.held.push(send);
      setTimeout(() => {
        if (!this.held.includes(send)) return;
        this.held.splice(this.held.indexOf(send), 1);
        reject(new Error("there is no connection to the server; try again in a moment"));
      }, PATIENCE);
    });
  }
}
