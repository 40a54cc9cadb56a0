// Types of the page, for the type checker only: `npm run check`.

export type At = [number, number];

/** What a cell can contain besides the agent. */
export interface Content {
  name: string;
  color?: string | null;
  icon: number;
  wall?: boolean;
}

export interface ObjectAt extends Content {
  at: At;
}

/** A world in the scenario format; `agent` is where the agent stands when a sentence is said. */
export interface Scene {
  objects: ObjectAt[];
  walls: At[];
  agent: At;
  drawings?: Record<string, string>;
  format?: string;
  sentence?: string;
}

export interface CheckedWord {
  text: string;
  state: "known" | "unseen" | "unknown";
  suggestion: string | null;
  why?: "typo" | "synonym";
  repaired?: string;
}

/** The server's check of a sentence. */
export interface Check {
  words: CheckedWord[];
  parts: string[];
  kind: "command" | "question" | "free_form";
  type: string | null;
  parse_error: string;
  target: At | null;
  shortest_path: number;
  answer: string | null;
  no_outcome: string;
}

export interface Answer {
  word: string;
  probability: number;
  score: number;
}

export interface Explained {
  word_attention: number[][] | null;
  gates: number[] | null;
  x_loc_steps: number[][] | null;
  x_loc: number[] | null;
  x_terr: number[] | null;
  value_map: number[] | null;
  action_probabilities: Record<string, number>;
  answers: Answer[] | null;
}

export interface Move {
  action: string;
  to: At;
  terminated: boolean;
  wrong_object: boolean;
  reward: number;
}

export interface Frame {
  at: At;
  explanation: Explained;
  move: Move | null;
  end?: "terminated" | "truncated" | "stuck";
}

/** What one agent did with a sentence. */
export interface Run {
  check: Check;
  frames: Frame[];
}

export interface Example {
  scene: Scene;
  sentence: string;
}

export interface TaughtWord {
  word: string;
  examples: Example[];
}

export interface Agent {
  name: string;
  method: string;
  lexicon: string[];
  novel_words: string[];
  held_out_words: string[];
  object_words: number;
  teachable: boolean;
  training_seconds: number | null;
  age_seconds: number | null;
  is_live: boolean;
}

export interface IconClass {
  name: string;
  first: number;
  colors: (string | null)[];
}

/** The first message of the server. */
export interface Hello {
  size: number;
  max_steps: number;
  max_examples: number;
  max_objects: number;
  neighbor_questions: Record<string, string>;
  sheet: { columns: number; rows: number };
  cells: Record<string, number>;
  classes: IconClass[];
  agents: Agent[];
}

export type Outcome = "correct" | "wrong" | "none";

/** What a run amounts to at one of its frames. */
export interface Verdict {
  outcome: Outcome | "running";
  headline: string;
  notes: string[];
  /** Whether it can be asked to walk, although the sentence was read as a question. */
  canWalk: boolean;
}

export interface HistoryEntry {
  sentence: string;
  world: Scene;
  agent: string;
  outcome: Outcome;
  text: string;
}

export interface Trials {
  isRunning: boolean;
  tried: number;
  judged: number;
  failures: { sentence: string; world: Scene; text: string }[];
}

/** The part of the state that undo restores. */
export interface Document {
  world: Scene | null;
  /** The number from which the world was drawn, if it was. */
  seed: number | null;
  /** The text of the input. */
  draft: string;
  said: string;
  runs: Run[];
  index: number;
  taught: TaughtWord[];
  agent: number;
  /** Answers before and after the last teaching. */
  before: Answer[] | null;
  after: Answer[] | null;
}

export interface State extends Document {
  hello: Hello | null;
  connection: string;
  refusal: string;
  isPlaying: boolean;
  speed: number;
  history: HistoryEntry[];
  trials: Trials;
  tour: number | null;
  notice: { text: string; isError: boolean };
}

export type Paint = (element: HTMLElement, key: string) => void;
