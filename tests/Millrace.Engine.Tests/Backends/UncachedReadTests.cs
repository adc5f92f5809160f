using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Reads that wait for a disk in a thread's time, not in the reactor's.</summary>
[Trait("Backend", "epoll")]
[Collection(nameof(Wire.Kit.RealSockets))]
public sealed unsafe class UncachedReadTests : IDisposable
{
    private const int Bytes = 100_000;
    private const int AttemptsMax = 20;

    private readonly TemporaryFolder _folder = new();
    private readonly FileStream _file;
    private readonly byte* _memory = (byte*)NativeMemory.AllocZeroed(Bytes);

    public UncachedReadTests() =>
        _file = new FileStream(_folder.File("f", Pattern.Make(1, Bytes)), FileMode.Open, FileAccess.Read, FileShare.ReadWrite);

    public void Dispose()
    {
        _file.Dispose();
        _folder.Dispose();
        NativeMemory.Free(_memory);
    }

    [Fact]
    public void Reads_are_done_by_threads_and_taken_when_the_reactor_wakes()
    {
        using var woken = new SemaphoreSlim(0);
        using var reads = new EpollFileReader(() => woken.Release());
        const int Count = 40;
        for (int slot = 0; slot < Count; slot++)
        {
            Assert.True(reads.TrySubmit(WorkOf(slot, slot * 1_000, 1_000), done: slot % 3));
        }

        var results = new Dictionary<int, int>();
        while (results.Count < Count)
        {
            Assert.True(woken.Wait(EngineTest.Patience), $"{results.Count} of {Count} reads were done.");
            while (reads.TryTakeFinished(out OperationToken token, out int result))
            {
                results.Add(token.Slot, result);
            }
        }

        Assert.All(results.Values, static result => Assert.Equal(1_000, result));
        for (int slot = 0; slot < Count; slot++)
        {
            // What was there already was not read again.
            int done = slot % 3;
            Assert.Equal(new byte[done], new ReadOnlySpan<byte>(_memory + (slot * 1_000), done));
            Pattern.Check(1, new ReadOnlySpan<byte>(_memory + (slot * 1_000) + done, 1_000 - done), (slot * 1_000) + done);
        }

        Assert.False(reads.TryCancel(WorkOf(0, 0, 0).Token));
    }

    [Fact]
    public void A_read_that_was_called_off_writes_nothing()
    {
        var read = new UncachedRead();
        read.Begin(WorkOf(0, 0, 1_000), done: 0);
        Assert.True(read.TryCancel());
        Assert.False(read.TryCancel());
        read.Run();
        Assert.True(read.IsCancelled);
        Assert.Equal(new byte[1_000], new ReadOnlySpan<byte>(_memory, 1_000));
    }

    [Fact]
    public void A_read_that_was_begun_cannot_be_called_off()
    {
        var read = new UncachedRead();
        read.Begin(WorkOf(0, 0, 1_000), done: 0);
        read.Run();
        Assert.False(read.TryCancel());
        Assert.Equal(1_000, read.Result);
    }

    [Fact]
    public void A_read_ends_at_the_end_of_the_file_or_with_its_error()
    {
        Assert.Equal(10, UncachedRead.ReadRemaining(WorkOf(Fd, Bytes - 10), done: 0));
        Assert.Equal(0, UncachedRead.ReadRemaining(WorkOf(Fd, Bytes), done: 0));
        Assert.Equal(7, UncachedRead.ReadRemaining(WorkOf(Fd, Bytes - 7), done: 7));
        Assert.Equal(-Errno.EBADF, UncachedRead.ReadRemaining(WorkOf(1_000_000_000, 0), done: 0));
        Assert.Equal(5, UncachedRead.ReadRemaining(WorkOf(1_000_000_000, 0), done: 5));
    }

    [Fact]
    public void A_file_that_the_page_cache_has_forgotten_is_read_by_a_thread()
    {
        // Only clean pages are forgotten.
        using (var written = new FileStream(_file.Name, FileMode.Open, FileAccess.ReadWrite, FileShare.ReadWrite))
        {
            written.Flush(flushToDisk: true);
        }

        using var backend = new DirectBackend(new EpollBackend(BackendTest.Small));
        bool isAwaited = false;
        for (int i = 0; i < AttemptsMax && !isAwaited; i++)
        {
            // Whoever looks whether it is cold has it read ahead; and the kernel may keep a page that it is busy with.
            Assert.Equal(0, PageCache.Drop(_file.Name));
            backend.Backend.SubmitRead(BackendTest.ReadToken, Fd, _memory, Bytes, 0);
            isAwaited = backend.Iteration(0) == 0;
            if (!isAwaited)
            {
                _ = backend.Next(BackendTest.ReadToken);
            }
        }

        Assert.SkipUnless(isAwaited, "The file system of the temporary folder keeps or hides it.");
        Assert.Equal(Bytes, backend.Next(BackendTest.ReadToken).Result);
        Pattern.Check(1, new ReadOnlySpan<byte>(_memory, Bytes));
    }

    private int Fd => (int)_file.SafeFileHandle.DangerousGetHandle();

    private EpollWork WorkOf(int file, long offset) => new() { Fd = file, Memory = _memory, Bytes = 1_000, Offset = offset };

    private EpollWork WorkOf(int slot, int at, int bytes) => new()
    {
        Kind = EpollWorkKind.Read,
        Fd = Fd,
        Token = DirectBackend.Token(OperationKind.FileRead, slot),
        Memory = _memory + at,
        Bytes = (nuint)bytes,
        Offset = at,
    };
}
