/** What the agent waits for: permissions and answers. Each is settled once, by whoever comes first. */

import {
  choosePermission,
  type PermissionReply,
  type PermissionRequest,
  permissionAnswer,
  permissionCancelled,
  readPermission,
  replyOf,
} from "../convert/permissions.ts";
import {
  type Answers,
  elicitationAccepted,
  elicitationDeclined,
  firstAnswer,
  type Question,
  questionAnswered,
  questionRejected,
  readElicitation,
  readQuestion,
} from "../convert/questions.ts";
import { NotFoundError, SandboxAgentError } from "../errors.ts";
import type { EventBody } from "../events.ts";
import { compact, type JsonObject } from "../json.ts";

/** A reply in general terms, or one option of the request. */
export type PermissionDecision = PermissionReply | { readonly optionId: string };

// biome-ignore lint/suspicious/noConfusingVoidType: a handler that replies later, by a call, returns nothing
type Decided<T> = T | void;

/** What a handler returns: a reply, or nothing. */
export type Reply<T> = Decided<T> | Promise<Decided<T>>;

/** Hears of permission requests. What it returns, if anything, is the reply. */
export type PermissionHandler = (request: PermissionRequest) => Reply<PermissionDecision>;

/** Hears of questions. What it returns, if anything, is the answer; `null` rejects it. */
export type QuestionHandler = (question: Question) => Reply<Answers | null>;

/** How an ask is told of. */
export type Report = (sessionId: string, body: EventBody) => void;

/** A request of the agent on its way in. */
export interface RequestContext {
  /** Its id on the connection. */
  readonly id: unknown;
  /** Aborted when it is taken back or answered elsewhere. */
  readonly signal: AbortSignal;
}

interface Pending {
  readonly sessionId: string;
  readonly wireId: string;
  readonly permission?: PermissionRequest;
  readonly question?: Question;
  readonly isForm: boolean;
  isOffered: boolean;
  settle(answer: JsonObject): void;
}

/** Open requests of one client. */
export interface AgentRequests {
  /** Takes a permission request; resolves with the answer for the agent. */
  permission(sessionId: string, params: unknown, context: RequestContext): Promise<JsonObject>;
  /** Takes a question of either kind; resolves with the answer for the agent. */
  question(sessionId: string, params: unknown, context: RequestContext, kind: "question" | "form"): Promise<JsonObject>;
  /** The stream says that somebody answered this request. */
  answeredElsewhere(wireId: unknown): void;
  replyPermission(permissionId: string, decision: PermissionDecision): void;
  replyQuestion(questionId: string, answers: Answers): void;
  rejectQuestion(questionId: string): void;
  onPermission(handler: PermissionHandler): () => void;
  onQuestion(handler: QuestionHandler): () => void;
  /** Answers whatever a session waits for, since its turn is cancelled. */
  cancel(sessionId: string): void;
  /** Open permission requests. */
  permissions(): readonly PermissionRequest[];
  /** Open questions. */
  questions(): readonly Question[];
}

/** Makes an empty list of agentRequests. */
export function createAgentRequests(report: Report): AgentRequests {
  const open = new Map<string, Pending>();
  const elsewhere = new Set<string>();
  const permissionHandlers = new Set<PermissionHandler>();
  const questionHandlers = new Set<QuestionHandler>();

  const uniqueId = (wanted: string): string => {
    let id = wanted;
    for (let count = 2; open.has(id); count += 1) id = `${wanted}#${count}`;
    return id;
  };

  const waitForReply = (
    id: string,
    pending: Omit<Pending, "settle" | "isOffered">,
    context: RequestContext,
  ): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const withdraw = (): void => {
        if (!open.delete(id)) return;
        const by = elsewhere.delete(pending.wireId) ? "elsewhere" : "withdrawn";
        const body: EventBody = pending.permission
          ? { type: "permission.resolved", permissionId: id, by }
          : { type: "question.resolved", questionId: id, by };
        report(pending.sessionId, body);
        reject(new SandboxAgentError("withdrawn", "nobody waits for this answer any more"));
      };
      const settle = (answer: JsonObject): void => {
        open.delete(id);
        context.signal.removeEventListener("abort", withdraw);
        resolve(answer);
      };
      open.set(id, { ...pending, isOffered: false, settle });
      if (context.signal.aborted) withdraw();
      else context.signal.addEventListener("abort", withdraw, { once: true });
      offer();
    });

  /** Gives every request to the handlers once there are any. */
  const offer = (): void => {
    for (const [id, pending] of [...open]) {
      const { permission, question } = pending;
      if (pending.isOffered) continue;
      if (permission && permissionHandlers.size > 0) {
        pending.isOffered = true;
        for (const handler of permissionHandlers)
          callHandler(pending, handler, permission, (reply) => replyPermission(id, reply));
      } else if (question && questionHandlers.size > 0) {
        pending.isOffered = true;
        for (const handler of questionHandlers) {
          callHandler(pending, handler, question, (answers) =>
            answers === null ? rejectQuestion(id) : replyQuestion(id, answers),
          );
        }
      }
    }
  };
  const callHandler = async <Request, Answer>(
    pending: Pending,
    handler: (request: Request) => Reply<Answer>,
    request: Request,
    settle: (answer: Answer) => void,
  ): Promise<void> => {
    try {
      const reply = await handler(request);
      // Several handlers may answer; the first one counts.
      if (reply !== undefined && [...open.values()].includes(pending)) settle(reply as Answer);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      report(pending.sessionId, { type: "error", code: "handler_failed", message });
    }
  };

  const find = (id: string, what: "permission" | "question"): Pending => {
    const pending = open.get(id);
    if (!pending?.[what]) throw new NotFoundError(`open ${what}`, id);
    return pending;
  };
  const replyPermission = (permissionId: string, decision: PermissionDecision): void => {
    const { permission, sessionId, settle } = find(permissionId, "permission");
    const options = permission?.options ?? [];
    const reply = typeof decision === "string" ? decision : undefined;
    const named = typeof decision === "string" ? undefined : options.find(({ id }) => id === decision.optionId);
    if (typeof decision !== "string" && !named) throw new NotFoundError("option", decision.optionId);
    const choice = named ? { option: named, isFallback: false } : choosePermission(options, reply ?? "reject");
    settle(permissionAnswer(choice, reply));
    const reported = reply ?? (named && replyOf(named));
    const body = { type: "permission.resolved" as const, permissionId, by: "client" as const };
    report(sessionId, compact({ ...body, reply: reported, optionId: choice.option?.id }));
  };
  const replyQuestion = (questionId: string, answers: Answers): void => {
    const { question, sessionId, isForm, settle } = find(questionId, "question");
    settle(isForm && question ? elicitationAccepted(question, answers) : questionAnswered(answers));
    const body = { type: "question.resolved" as const, questionId, by: "client" as const };
    report(sessionId, compact({ ...body, status: "answered" as const, answers, response: firstAnswer(answers) }));
  };
  const rejectQuestion = (questionId: string): void => {
    const { sessionId, isForm, settle } = find(questionId, "question");
    settle(isForm ? elicitationDeclined() : questionRejected());
    report(sessionId, { type: "question.resolved", questionId, by: "client", status: "rejected" });
  };

  return {
    permission(sessionId, params, context) {
      const permissionId = uniqueId(String(context.id));
      const permission = readPermission(params, { permissionId, sessionId });
      report(sessionId, { type: "permission.requested", permission });
      return waitForReply(permissionId, { sessionId, wireId: String(context.id), permission, isForm: false }, context);
    },
    question(sessionId, params, context, kind) {
      const read = kind === "form" ? readElicitation : readQuestion;
      const given = read(params, { questionId: String(context.id), sessionId });
      const question = { ...given, questionId: uniqueId(given.questionId) };
      report(sessionId, { type: "question.requested", question, status: "requested" });
      const pending = { sessionId, wireId: String(context.id), question, isForm: kind === "form" };
      return waitForReply(question.questionId, pending, context);
    },
    answeredElsewhere(wireId) {
      const isOpen = [...open.values()].some((pending) => pending.wireId === String(wireId));
      if (isOpen) elsewhere.add(String(wireId));
    },
    replyPermission,
    replyQuestion,
    rejectQuestion,
    onPermission(handler) {
      permissionHandlers.add(handler);
      offer();
      return () => permissionHandlers.delete(handler);
    },
    onQuestion(handler) {
      questionHandlers.add(handler);
      offer();
      return () => questionHandlers.delete(handler);
    },
    cancel(sessionId) {
      for (const [id, pending] of [...open]) {
        if (pending.sessionId !== sessionId) continue;
        if (pending.question) rejectQuestion(id);
        else {
          pending.settle(permissionCancelled());
          report(sessionId, { type: "permission.resolved", permissionId: id, by: "client", reply: "reject" });
        }
      }
    },
    permissions: () => [...open.values()].flatMap(({ permission }) => permission ?? []),
    questions: () => [...open.values()].flatMap(({ question }) => question ?? []),
  };
}
