using Millrace.Interop.Sockets;

namespace Millrace.Interop.Files;

/// <summary>
/// Says in a clause why a file or folder cannot be used. The runtime's messages repeat the path, and call a directory a lack of access.
/// </summary>
internal static class FileProblem
{
    public static string Of(string path, Exception refusal) => refusal switch
    {
        FileNotFoundException or DirectoryNotFoundException => Of(path, Errno.ENOENT),
        UnauthorizedAccessException => Of(path, IsReadableDirectory(path) ? Errno.EISDIR : Errno.EACCES),
        PathTooLongException => Of(path, Errno.ENAMETOOLONG),
        IOException { HResult: > 0 and < 256 and int errno } => Of(path, errno),
        _ => refusal.Message.TrimEnd('.'),
    };

    public static string Of(string path, int errno) => Math.Abs(errno) switch
    {
        Errno.ENOENT => Path.GetDirectoryName(Path.GetFullPath(path)) is { } folder && !Directory.Exists(folder)
            ? $"the folder '{folder}' does not exist"
            : "it does not exist",
        Errno.EISDIR => "it is a directory",
        Errno.ENOTDIR => "a part of its path is not a directory",
        Errno.EACCES or Errno.EPERM => "this user has no permission",
        Errno.ENAMETOOLONG => "its name is too long",
        Errno.ENXIO => "no program reads from it",
        Errno.EEXIST => Directory.Exists(path) ? "it is a directory" : "it is a file",
        _ => Errno.Describe(errno),
    };

    /// <summary>What to do, in a sentence: for a lack of descriptors, whatever the file is, to raise the limit; else the given.</summary>
    public static string RemedyOf(Exception refusal, string otherwise) => RemedyOf(ErrnoOf(refusal), otherwise);

    public static string RemedyOf(int errno, string otherwise) =>
        Errno.DescriptorRemedy(errno) is { } remedy ? $"{char.ToUpperInvariant(remedy[0])}{remedy[1..]}." : otherwise;

    /// <summary>EMFILE or ENFILE if no descriptor can be opened now, which the loader of libraries does not report; else 0.</summary>
    public static int DescriptorShortage()
    {
        int descriptor = SocketCalls.EventDescriptor();
        _ = descriptor < 0 ? 0 : FileCalls.Close(descriptor);
        return descriptor is -Errno.EMFILE or -Errno.ENFILE ? -descriptor : 0;
    }

    /// <summary>The errno of an exception of the runtime; 0 if it has none.</summary>
    public static int ErrnoOf(Exception refusal) => refusal is IOException { HResult: > 0 and < 256 and int errno } ? errno : 0;

    /// <summary>Whether the path is wrong, as opposed to a refusal of the host.</summary>
    public static bool IsMistake(string path, Exception refusal) => refusal switch
    {
        FileNotFoundException or DirectoryNotFoundException or PathTooLongException => true,
        UnauthorizedAccessException => IsReadableDirectory(path),
        IOException { HResult: > 0 and < 256 and int errno } => IsMistake(errno),
        _ => false,
    };

    /// <summary>Whether the path is wrong, as opposed to a refusal of the host.</summary>
    public static bool IsMistake(int errno) => Math.Abs(errno) is
        Errno.ENOENT or Errno.ENOTDIR or Errno.EISDIR or Errno.EEXIST or Errno.ENAMETOOLONG or Errno.ELOOP or Errno.EINVAL or Errno.ENXIO;

    private static bool IsReadableDirectory(string path)
    {
        try
        {
            if (!Directory.Exists(path))
            {
                return false;
            }

            // Throws if the user may not read it.
            using IEnumerator<string> entries = Directory.EnumerateFileSystemEntries(path).GetEnumerator();
            _ = entries.MoveNext();
            return true;
        }
        catch (Exception refusal) when (refusal is UnauthorizedAccessException or IOException)
        {
            return false;
        }
    }
}
