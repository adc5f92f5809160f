using Millrace.Interop.Watching;

namespace Millrace.StaticFiles.Watching;

/// <summary>Why a directory cannot be watched: the kernel's error, or (0) a file system that changes without inotify saying so.</summary>
internal readonly record struct Refusal(int Error, FileSystemMagic FileSystem);
