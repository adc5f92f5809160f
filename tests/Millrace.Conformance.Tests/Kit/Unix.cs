using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace Millrace.Conformance.Tests.Kit;

/// <summary>What a folder can hold and .NET does not make.</summary>
internal static partial class Unix
{
    public static void MakeFifo(string path)
    {
        if (MkFifo(path, Convert.ToUInt32("644", 8)) != 0)
        {
            throw new IOException($"mkfifo {path}: errno {Marshal.GetLastPInvokeError()}");
        }
    }

    /// <summary>A socket's name, that nobody listens on.</summary>
    public static void MakeSocket(string path)
    {
        // Bound by its name below the current folder: a full path may not fit sockaddr_un.
        string spare = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName());
        using (var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified))
        {
            socket.Bind(new UnixDomainSocketEndPoint(spare));
            if (Link(spare, path) != 0)
            {
                throw new IOException($"link {path}: errno {Marshal.GetLastPInvokeError()}");
            }
        }

        File.Delete(spare);
    }

    /// <summary>rename(2): .NET's own refuses a symlink that leads to a directory.</summary>
    public static void Rename(string from, string to)
    {
        if (RenamePath(from, to) != 0)
        {
            throw new IOException($"rename {from} {to}: errno {Marshal.GetLastPInvokeError()}");
        }
    }

    [LibraryImport("libc", EntryPoint = "rename", StringMarshalling = StringMarshalling.Utf8, SetLastError = true)]
    private static partial int RenamePath(string from, string to);

    [LibraryImport("libc", EntryPoint = "mkfifo", StringMarshalling = StringMarshalling.Utf8, SetLastError = true)]
    private static partial int MkFifo(string path, uint mode);

    [LibraryImport("libc", EntryPoint = "link", StringMarshalling = StringMarshalling.Utf8, SetLastError = true)]
    private static partial int Link(string from, string to);
}
