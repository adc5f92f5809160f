using Millrace.Interop;
using Millrace.Interop.IoUring;

namespace Millrace.Engine.Backends.Uring;

/// <content>
/// Sockets in the ring's table of files. One is put there by what is queued directly before its first operation, and leaves by what is
/// queued as its descriptor is closed: the next enter, at the end of this turn, is then what closes the socket. The number may be anybody's
/// by then, and means nothing any more: what is emptied is the slot, and whoever gets it next is put there behind that.
/// </content>
internal sealed unsafe partial class UringBackend
{
    private const uint Filling = 1;
    private const uint Emptying = 2;

    private readonly FileTable? _files;

    /// <summary>An entry for an operation on a socket: by its slot, where it has one or gets one.</summary>
    private Sqe* NewSocketEntry(Opcode opcode, int socket, OperationToken token)
    {
        int slot = _files is null ? FileTable.NoSlot : SlotOf(socket, _files);
        Sqe* entry = NewEntry(opcode, socket, token);
        if (slot != FileTable.NoSlot)
        {
            entry->Fd = slot;
            entry->Flags = SqeFlags.FixedFile;
        }

        return entry;
    }

    /// <summary>A socket that found the table full is tried again with its next operation.</summary>
    private int SlotOf(int socket, FileTable files)
    {
        int slot = files.SlotOf(socket);
        if (slot == FileTable.NoSlot && (slot = files.Take(socket)) != FileTable.NoSlot)
        {
            files.Fill(NewUpdate(Filling, slot), slot);
        }

        return slot;
    }

    private void Unregister(int socket)
    {
        if (_files is not null && _files.GiveBack(socket) is var slot and not FileTable.NoSlot)
        {
            _files.Empty(NewUpdate(Emptying, slot), slot);
        }
    }

    private Sqe* NewUpdate(uint what, int slot) => NewEntry(Opcode.FilesUpdate, -1, new OperationToken(OperationKind.None, what, slot));

    /// <summary>
    /// A filling that found no memory leaves the slot empty: what goes by it ends with -EBADF, and its connection with that. A slot that is
    /// not emptied would show the next one a socket that is not its own.
    /// </summary>
    private static void TakeUpdate(OperationToken token, int result)
    {
        if (token.Generation == Emptying)
        {
            throw new EngineException($"The kernel does not let a registered file go: {Errno.Describe(result)}.");
        }
    }
}
