interface Named {
  readonly id: string
  readonly title: string
  readonly createdAt: string
}

/** `bash`, or `bash 1` and `bash 2` in the order they were opened where several have one title. */
export function terminalNames(terminals: readonly Named[]): ReadonlyMap<string, string> {
  const groups = Map.groupBy(
    terminals.toSorted((one, other) => one.createdAt.localeCompare(other.createdAt) || one.id.localeCompare(other.id)),
    ({ title }) => title,
  )
  return new Map(
    [...groups].flatMap(([title, members]) =>
      members.map(({ id }, index) => [id, members.length === 1 ? title : `${title} ${index + 1}`] as const),
    ),
  )
}
