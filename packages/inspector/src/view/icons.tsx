/** Icons. They are SVG drawings, because not every font has characters for them. */

function Icon({ path }: { readonly path: string }): React.ReactNode {
  return (
    <svg className="pictogram" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={path} fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" strokeLinejoin="round" />
    </svg>
  );
}

export const ClipIcon = (): React.ReactNode => (
  <Icon path="M13 7.2 8 12.2a3 3 0 0 1-4.3-4.3l5.6-5.5a2 2 0 0 1 2.9 2.8L6.7 10.7a1 1 0 0 1-1.4-1.4L10 4.6" />
);
export const FileIcon = (): React.ReactNode => <Icon path="M4 1.8h5l3 3v9.4H4zM9 1.8v3h3" />;
export const FolderIcon = (): React.ReactNode => <Icon path="M1.8 12.7V3.5h4l1.4 1.7h7v7.5z" />;
export const LinkIcon = (): React.ReactNode => <Icon path="M4 12 12 4M6 4h6v6" />;
export const ToolIcon = (): React.ReactNode => <Icon path="M3 5l3 3-3 3M8 11.5h5" />;
