export default function View(): React.ReactNode {
  return <p className="splash">files</p>;
}
