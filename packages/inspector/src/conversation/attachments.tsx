/** The files that are attached to a message. Agents that accept images receive images; all other files are uploaded. */

import { type JsonObject, randomHex } from "acp-http-client/internal";
import { useState } from "react";
import type { InstanceState, SessionState } from "../journal/types.ts";
import { useWorkbench } from "../view/context.ts";
import { FileIcon } from "../view/icons.tsx";
import { useTask } from "../view/task.ts";
import { acceptsImages, imageBlock, isImageToSend, resourceLink, uploadPath } from "./compose.ts";

export interface Attached {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  /** The content block that the agent receives. */
  readonly block: JsonObject;
  /** The image as a `data:` URL, if the file is sent as an image. */
  readonly image?: string;
  /** The path in the sandbox, if the file was uploaded. */
  readonly path?: string;
}

export interface Attachments {
  readonly attached: readonly Attached[];
  readonly isBusy: boolean;
  readonly error: string | undefined;
  add(files: Iterable<File>): void;
  remove(id: string): void;
  clear(): void;
}

export function useAttachments(state: InstanceState, session: SessionState): Attachments {
  const { api, workspace } = useWorkbench();
  const [attached, setAttached] = useState<readonly Attached[]>([]);
  const task = useTask();

  const attach = async (file: File, imageBytes: number): Promise<Attached> => {
    const id = randomHex(4);
    const { name, type, size } = file;
    if (acceptsImages(state.initialized) && isImageToSend(file, imageBytes)) {
      const image = await dataUrlOf(file);
      return { id, name, size, image, block: imageBlock(image, type) };
    }
    const path = uploadPath(session.cwd ?? workspace, id, name);
    await api.write(path, file);
    return { id, name, size, path, block: resourceLink({ path, name, type, size }) };
  };

  return {
    attached,
    isBusy: task.isBusy,
    error: task.error,
    add: (files) =>
      task.run(async () => {
        let imageBytes = attached.reduce((sum, { image, size }) => (image === undefined ? sum : sum + size), 0);
        for (const file of files) {
          const next = await attach(file, imageBytes);
          if (next.image !== undefined) imageBytes += next.size;
          setAttached((before) => [...before, next]);
        }
      }),
    remove: (id) => setAttached((before) => before.filter((one) => one.id !== id)),
    clear: () => setAttached([]),
  };
}

/** Reads a file as a `data:` URL. */
function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
}

export function AttachedList({ attached, remove }: Pick<Attachments, "attached" | "remove">): React.ReactNode {
  if (attached.length === 0) return null;
  return (
    <ul className="attached" aria-label="Attached files">
      {attached.map(({ id, name, path, image }) => (
        <li key={id} className="file-chip" title={path ?? "Sent as an image"}>
          {image === undefined ? <FileIcon /> : <img src={image} alt="" />} {name}
          <button type="button" className="icon" aria-label={`Remove ${name}`} onClick={() => remove(id)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}
