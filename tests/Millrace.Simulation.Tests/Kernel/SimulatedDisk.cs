using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Simulation.Tests.Faults;
using Millrace.Simulation.Tests.Runs;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// The file system as one run sees it: real files, which sometimes cannot be opened or looked at, and which shrink. Descriptors are this
/// run's own numbers, so that one that is used after its close, or never closed, is noticed.
/// </summary>
internal sealed class SimulatedDisk(World world) : AssetFiles
{
    /// <summary>Beyond those of files that are held open, and of sockets.</summary>
    private const int FirstDescriptor = 1 << 29;

    private readonly Dictionary<int, int> _opened = [];
    private readonly Dictionary<ulong, FileState> _shrunk = [];
    private readonly List<long> _sizes = [];
    private int _nextDescriptor = FirstDescriptor;
    private long _refusedAtMs = long.MinValue;
    private long _failedAtMs = long.MinValue;

    public int OpenDescriptors => _opened.Count;

    /// <summary>Sizes that files have shrunk to, in this run.</summary>
    public IReadOnlyList<long> ShrunkSizes => _sizes;

    /// <summary>Whether some file could not be had since then, which its answer may say.</summary>
    public bool HasRefusedSince(long atMs) => _refusedAtMs >= atMs;

    /// <summary>Until then some read is at it.</summary>
    public long SlowUntilMs { get; private set; }

    /// <summary>Whether a read has failed since then, of whomever.</summary>
    public bool HasFailedSince(long atMs) => _failedAtMs >= atMs;

    public void NoteFailure() => _failedAtMs = world.NowMs;

    public void BeSlowFor(int ms) => SlowUntilMs = Math.Max(SlowUntilMs, world.NowMs + ms);

    public override int Open(RootDirectory root, ReadOnlySpan<byte> relativePathZ)
    {
        if (DrawRefusal(Errno.EMFILE, Errno.ENFILE, Errno.ENOMEM, Errno.ENOENT, Errno.EACCES, Errno.EIO) is int error and not 0)
        {
            return error;
        }

        int real = OpenReal(root, relativePathZ);
        if (real < 0)
        {
            return real;
        }

        _opened.Add(_nextDescriptor, real);
        return _nextDescriptor++;
    }

    public override int Stat(int descriptor, out FileState state)
    {
        state = default;
        return DrawRefusal(Errno.EIO, Errno.ENOMEM) is int error and not 0 ? error : CheckReal(descriptor, out state);
    }

    public override void Close(int descriptor)
    {
        if (_opened.Remove(descriptor, out int real))
        {
            base.Close(real);
        }
        else
        {
            world.Fail(Trace.NoConnection, $"The descriptor {descriptor} of a file was closed, which is not open.");
        }
    }

    /// <summary>Bytes of the file as it is now, or -errno.</summary>
    public int Read(int descriptor, Span<byte> destination, long offset)
    {
        if (descriptor >= FirstDescriptor && !_opened.ContainsKey(descriptor))
        {
            world.Fail(Trace.NoConnection, "A file is read whose descriptor was closed.");
            return -Errno.EBADF;
        }

        int result = CheckReal(descriptor, out FileState state);
        if (result < 0)
        {
            return result;
        }

        if (state.Size > 0 && world.Strikes(FaultKind.FileShrinks, Trace.Kernel))
        {
            Shrink(state);
        }

        return ReadPages(descriptor, destination, offset);
    }

    /// <summary>The same of a body's own pages, or of a file that is not being read but sent: it stays as it is.</summary>
    public unsafe int ReadPages(int descriptor, Span<byte> destination, long offset)
    {
        int result = CheckReal(descriptor, out FileState state);
        int count = (int)Math.Clamp(state.Size - offset, 0, destination.Length);
        fixed (byte* first = destination)
        {
            return result < 0 || count == 0 ? result : (int)FileCalls.PositionalRead(RealOf(descriptor), first, (nuint)count, offset);
        }
    }

    /// <summary>What the run has left open is closed after it.</summary>
    public void CloseAll()
    {
        foreach (int real in _opened.Values)
        {
            base.Close(real);
        }

        _opened.Clear();
    }

    /// <summary>Opens the file that a path means.</summary>
    private int OpenReal(RootDirectory root, ReadOnlySpan<byte> relativePathZ) => base.Open(root, relativePathZ);

    private int CheckReal(int descriptor, out FileState state)
    {
        int result = base.Stat(RealOf(descriptor), out state);
        state = result == 0 && _shrunk.TryGetValue(state.Inode, out FileState shrunk) ? shrunk : state;
        return result;
    }

    private int RealOf(int descriptor) => _opened.GetValueOrDefault(descriptor, descriptor);

    private void Shrink(FileState state)
    {
        FileState shrunk = state with { Size = world.Random.Below((int)state.Size), ModifiedAtNs = state.ModifiedAtNs + 1_000_000 };
        _shrunk[state.Inode] = shrunk;
        _sizes.Add(shrunk.Size);
    }

    private int DrawRefusal(params ReadOnlySpan<int> errors)
    {
        if (!world.Strikes(FaultKind.FileRefused, Trace.Kernel))
        {
            return 0;
        }

        _refusedAtMs = world.NowMs;
        return -world.Random.Pick(errors);
    }
}
