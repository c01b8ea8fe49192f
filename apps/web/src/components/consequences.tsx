/** The consequences of an act, shown before it is confirmed. */
export function Consequences({ items }: { items: readonly string[] }) {
  return (
    <ul className="mb-4 flex list-disc flex-col gap-1.5 pl-4.5 text-ink-2 marker:text-ink-3">
      {items.map((item) => (
        <li key={item}>{item}</li>
      ))}
    </ul>
  )
}
