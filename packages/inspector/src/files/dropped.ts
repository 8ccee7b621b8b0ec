/** Reads the files that the user has dropped on the page, including those in dropped folders. */

export interface Dropped {
  /** The path relative to the target folder. */
  readonly path: string;
  readonly file: File;
}

export async function droppedFiles(transfer: DataTransfer): Promise<readonly Dropped[]> {
  // The items are valid only during the event, so the entries are read before the first await.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const plain = [...transfer.files].map((file) => ({ path: file.name, file }));
  if (entries.length === 0) return plain;
  return (await Promise.all(entries.map((entry) => filesOf(entry, "")))).flat();
}

async function filesOf(entry: FileSystemEntry, above: string): Promise<readonly Dropped[]> {
  const path = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    return [{ path, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: Dropped[] = [];
  for (;;) {
    // A directory is read in batches; an empty batch is the last one.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) return found;
    found.push(...(await Promise.all(part.map((child) => filesOf(child, `${path}/`)))).flat());
  }
}
