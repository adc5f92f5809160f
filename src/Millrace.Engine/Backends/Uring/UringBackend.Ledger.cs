using System.Diagnostics;
using Millrace.Interop.IoUring;

namespace Millrace.Engine.Backends.Uring;

/// <content>Which descriptors the kernel may still want, written down in Debug builds only.</content>
internal sealed unsafe partial class UringBackend
{
    /// <summary>
    /// What each operation is on that has not ended: a poller may look a number up at any time until then, and would find what bears it
    /// next. The number of a socket in the table of files is looked up once, before its first operation; it stays the socket's as long.
    /// </summary>
    private readonly Dictionary<ulong, int> _descriptorsInUse = [];

    [Conditional("DEBUG")]
    private void NoteBegun(int fd, OperationToken token)
    {
        if (fd >= 0)
        {
            _descriptorsInUse.Add(token.Value, fd);
        }
    }

    [Conditional("DEBUG")]
    private void NoteEnded(in Cqe cqe)
    {
        // A send has let its socket go with its result, even where the kernel goes on reading the memory.
        if ((cqe.Flags & CqeFlags.More) == 0 || new OperationToken(cqe.UserData).Kind == OperationKind.Send)
        {
            _descriptorsInUse.Remove(cqe.UserData);
        }
    }

    [Conditional("DEBUG")]
    private void AssertUnused(int socket) =>
        Debug.Assert(!_descriptorsInUse.ContainsValue(socket), "A socket is closed while the kernel has an operation on it.");
}
