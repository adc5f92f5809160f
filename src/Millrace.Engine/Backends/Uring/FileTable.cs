using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Files;
using Millrace.Interop.IoUring;

namespace Millrace.Engine.Backends.Uring;

/// <summary>
/// The ring's own table of files (IORING_REGISTER_FILES2), in which an operation finds its socket without a look into the process's table,
/// and without counting its use there in a word that other threads write. A socket has a slot besides its descriptor; as long as it has,
/// the kernel keeps it open, whatever becomes of the descriptor. Whoever finds no free slot goes by the descriptor.
/// <para>
/// Slots are filled and emptied by operations of the ring: by system calls (IORING_REGISTER_FILES_UPDATE) it would be two of them for each
/// connection. The kernel issues these operations at once and in the order of the queue, so that one behind a filling finds the file, and
/// one behind an emptying never does. Sockets that are accepted into a slot have no descriptor, which setsockopt, shutdown and getpeername
/// ask for. Neither listeners nor the files of a site are here: an accept looks its socket up once for all connections that it brings, and
/// files are opened and closed by others, who would have to ask every ring for it.
/// </para>
/// </summary>
internal sealed unsafe class FileTable : IDisposable
{
    public const int NoSlot = -1;

    /// <summary>What the kernel takes in all: IORING_MAX_FIXED_FILES.</summary>
    public const int KernelMost = 1 << 20;

    private const int NoFile = -1;
    private const int SlotsAtFirst = 1_024;

    private readonly Ring _ring;

    /// <summary>
    /// Where the kernel reads what a slot is to be filled with: a word for each, as it may read at any time until the operation behind the
    /// filling ends. Then one more, by which all are emptied.
    /// </summary>
    private readonly int* _words;

    /// <summary>Those given back; the last one is the next to go, while its lines are in the caches.</summary>
    private readonly Stack<int> _free = new();

    /// <summary>By descriptor: the slot and one, or zero.</summary>
    private int[] _slots = new int[SlotsAtFirst];
    private int _touched;

    /// <exception cref="EngineException">The kernel has no such table, or not one of this size.</exception>
    public FileTable(Ring ring, int count)
    {
        _ring = ring;
        Count = count;
        var registration = new ResourceRegistration { Count = (uint)count, Flags = ResourceRegistration.Sparse };
        int result = ring.Register(RegisterOpcode.Files, &registration, (uint)sizeof(ResourceRegistration));
        if (result < 0)
        {
            throw new EngineException(UringRefusal.ForFiles(-result));
        }

        _words = (int*)NativeMemory.Alloc((nuint)count + 1, sizeof(int));
        _words[count] = NoFile;
    }

    /// <summary>How many slots there are.</summary>
    public int Count { get; }

    /// <summary>
    /// How many slots a ring gets: one for each connection that there may be, as any reactor may come to have them all, but no more than
    /// there can be descriptors, which is what the kernel allows (RLIMIT_NOFILE). It takes eight bytes for each.
    /// </summary>
    public static int CountFor(EngineOptions options)
    {
        long connections = (long)options.Limits.Connections + options.Limits.Refusals;
        long most = Math.Min(Math.Min(connections, options.RegisteredFilesMost), KernelMost);
        return FileCalls.GetDescriptorLimit(out ResourceLimit limit) < 0 ? (int)most : (int)Math.Min((ulong)most, limit.Soft);
    }

    public int SlotOf(int descriptor) => (uint)descriptor < (uint)_slots.Length ? _slots[descriptor] - 1 : NoSlot;

    /// <summary>A slot for a descriptor that has none, whose filling the caller submits next; none when all are in use.</summary>
    public int Take(int descriptor)
    {
        Debug.Assert(SlotOf(descriptor) == NoSlot, "A socket has one slot.");
        if (!_free.TryPop(out int slot))
        {
            if (_touched == Count)
            {
                return NoSlot;
            }

            slot = _touched++;
        }

        if (descriptor >= _slots.Length)
        {
            Array.Resize(ref _slots, Math.Max(descriptor + 1, 2 * _slots.Length));
        }

        _slots[descriptor] = slot + 1;
        _words[slot] = descriptor;
        return slot;
    }

    /// <summary>
    /// The descriptor is about to be closed, and nothing is under way by its slot: the caller submits the emptying next, if there was one.
    /// </summary>
    public int GiveBack(int descriptor)
    {
        int slot = SlotOf(descriptor);
        if (slot != NoSlot)
        {
            _slots[descriptor] = 0;
            _free.Push(slot);
        }

        return slot;
    }

    public void Fill(Sqe* entry, int slot) => Update(entry, slot, &_words[slot]);

    /// <summary>Of a slot that was given back, before its next filling.</summary>
    public void Empty(Sqe* entry, int slot) => Update(entry, slot, &_words[Count]);

    /// <summary>Lets all files go now, which the kernel would do some time after the ring is closed.</summary>
    public void Dispose()
    {
        int result = _ring.Register(RegisterOpcode.UnregisterFiles, null, 0);
        Debug.Assert(result == 0, "The ring has the table that it was given.");
        NativeMemory.Free(_words);
    }

    private static void Update(Sqe* entry, int slot, int* word)
    {
        entry->Flags = SqeFlags.SkipSuccess;
        entry->Offset = (uint)slot;
        entry->Address = (ulong)word;
        entry->Length = 1;
    }
}
