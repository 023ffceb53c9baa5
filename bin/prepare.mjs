// Plain JavaScript: what runs before the cache is enabled is not cached, and stripping the types of one file takes 60 ms.
import { mkdirSync, statSync } from 'node:fs'
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** @param {string} path */
const makeFolder = (path) => {
  try {
    mkdirSync(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error
  }
  return path
}

/** @returns {string | undefined} The folder for the compile cache; undefined if its parent belongs to another user or can't hold it. */
const cacheFolder = () => {
  try {
    const { XDG_CACHE_HOME } = process.env
    const parent = XDG_CACHE_HOME || homedir()
    if (statSync(parent).uid !== process.geteuid?.()) return
    // Node would try forever to create nested folders on a file system that can't hold them, such as /proc.
    return makeFolder(join(XDG_CACHE_HOME ? parent : makeFolder(join(parent, '.cache')), 'svc'))
  } catch {
    // The parent does not exist or can't be written, or the user has no home folder.
  }
}

/**
 * Restricts the umask and enables Node's compile cache, before any other module is loaded. The cache's default folder is in the
 * temporary folder: there, another user could place code that this process would run, or create the folder first and so prevent a
 * cache.
 */
export const prepareProcess = () => {
  // A launch.mjs that is killed with SIGKILL can't forward the signal. This process ends with it.
  if (process.channel && process.env.SVC_STARTED_AS) {
    process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'))
    process.channel.unref()
  }
  // Other users must not be able to write our files, whatever the umask is: neither data nor the compile cache.
  process.umask(process.umask() | 0o022)
  // Node lets FORCE_COLOR take precedence, with a warning.
  if (process.env.NO_COLOR) delete process.env.FORCE_COLOR
  const folder = process.env.NODE_COMPILE_CACHE || cacheFolder()
  const { directory } = folder ? module.enableCompileCache(folder) : {}
  // The variable shares the cache with the threads of the jobs, which saves 20 MB for each thread.
  if (directory) process.env.NODE_COMPILE_CACHE ||= directory
}
