/**
 * Every key goes to the program, Ctrl-C too. The returned act puts the terminal back as it was; it also happens when the
 * process ends in another way, as long as it ends by itself.
 */
export function enterRawMode(stdin: NodeJS.ReadStream): () => void {
  const leave = () => {
    process.off('exit', leave)
    if (stdin.isRaw === true) stdin.setRawMode(false)
    stdin.pause()
  }
  process.on('exit', leave)
  stdin.setRawMode(true)
  stdin.resume()
  return leave
}
