using System.Diagnostics;
using Millrace.Interop.IoUring;

namespace Millrace.Engine.Backends.IoUring;

/// <content>Tracks the descriptors that the kernel may still use, in Debug builds only.</content>
internal sealed unsafe partial class IoUringBackend
{
    /// <summary>
    /// The descriptor of each operation in flight: until its end a submission poller may look the number up, and would find a later
    /// descriptor with the same number.
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
        // A send no longer uses its socket after its result, even if the kernel still reads the memory.
        if ((cqe.Flags & CqeFlags.More) == 0 || new OperationToken(cqe.UserData).Kind == OperationKind.Send)
        {
            _descriptorsInUse.Remove(cqe.UserData);
        }
    }

    [Conditional("DEBUG")]
    private void AssertUnused(int socket) =>
        Debug.Assert(!_descriptorsInUse.ContainsValue(socket), "A socket is closed while the kernel has an operation on it.");
}
