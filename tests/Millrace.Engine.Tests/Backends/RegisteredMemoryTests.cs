using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.IoUring;
using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Reads into memory that the ring has pinned, and sends from there, asked of the ring directly.</summary>
[Trait("Backend", "io_uring")]
public unsafe class RegisteredMemoryTests() : BackendTest(BackendKind.IoUring)
{
    private const int Bytes = BlockPools.ChunkBytes;
    private const int AdviceDontNeed = 4;

    [Theory]
    [InlineData(0, 100)]
    [InlineData(17, 5_000)]
    [InlineData(0, Bytes)]
    [InlineData(Bytes - 10, 10)]
    public void A_file_is_read_into_it_and_sent_from_it(int offset, int count)
    {
        using DirectBackend kernel = Open(Small.Pinned());
        byte* place = kernel.Backend.Arena!.Address + offset;
        Read(kernel, Pattern.Make(3, count), place);
        Pattern.Check(3, new Span<byte>(place, count).ToArray());
        Pattern.Check(3, Sent(kernel, place, count));
    }

    /// <summary>What does not lie within it goes as without: the kernel would refuse it otherwise.</summary>
    [Fact]
    public void Beyond_it_there_is_other_memory()
    {
        using DirectBackend kernel = Open(Small.Pinned());
        byte* other = kernel.Memory(new byte[5_000]);
        Read(kernel, Pattern.Make(4, 5_000), other);
        Pattern.Check(4, Sent(kernel, other, 5_000));
    }

    /// <summary>
    /// Once the process has let go of the pages they are the kernel's alone, and where they were are new ones: what is read into the pinned
    /// ones does not show, and what is sent comes from them.
    /// </summary>
    [Fact]
    public void It_is_the_pinned_pages_that_are_read_into_and_sent_from()
    {
        using DirectBackend kernel = Open(Small.Pinned());
        byte* place = kernel.Backend.Arena!.Address;
        Assert.Equal(0, madvise(place, Bytes, AdviceDontNeed));
        Read(kernel, Pattern.Make(5, 10_000), place);
        Assert.Equal(-1, new Span<byte>(place, 10_000).IndexOfAnyExcept((byte)0));
        Pattern.Check(5, Sent(kernel, place, 10_000));
    }

    [Fact]
    public void What_is_read_beyond_the_files_end_is_less()
    {
        using DirectBackend kernel = Open(Small.Pinned());
        int file = MemoryCalls.MemoryFile("short"u8);
        kernel.Backend.SubmitRead(ReadToken, file, kernel.Backend.Arena!.Address, 100, offset: 1);
        Assert.Equal(4, kernel.Next(ReadToken).Result);
        Assert.Equal("hort"u8, new ReadOnlySpan<byte>(kernel.Backend.Arena.Address, 4));
        _ = SocketCalls.Close(file);
    }

    [Fact]
    public void Nothing_is_pinned_unless_asked_for()
    {
        using DirectBackend kernel = Open(Small.ZeroCopy());
        Assert.Null(kernel.Backend.Arena);
    }

    [Theory]
    [InlineData(1, BlockPools.ChunkBytes)]
    [InlineData(BlockPools.ChunkBytes, BlockPools.ChunkBytes)]
    [InlineData(BlockPools.ChunkBytes + 1, 2 * BlockPools.ChunkBytes)]
    public void It_is_of_whole_chunks(int asked, int given)
    {
        using DirectBackend kernel = Open(Small.Pinned() with { RegisteredBufferBytes = asked });
        Assert.Equal(given, kernel.Backend.Arena!.Bytes);
    }

    [Fact]
    public void Of_what_is_refused_cause_and_remedy_are_told()
    {
        IoUringRefusal refusal = IoUringRefusal.ForMemory(Errno.ENOMEM);
        Assert.Equal((IoUringRefusalKind.Option, false), (refusal.Kind, refusal.IsUnavailable));
        Assert.False(new EngineException(refusal).IsShortOfMemory);
        Assert.Equal(
            "io_uring found no memory to lock for registered buffers: raise the limit ('ulimit -l', LimitMEMLOCK= in a unit file) or use "
                + "fewer reactors, or configure smaller ones.",
            refusal.Message);
        refusal = IoUringRefusal.ForMemory(Errno.EOPNOTSUPP);
        Assert.Equal((IoUringRefusalKind.Option, false), (refusal.Kind, refusal.IsUnavailable));
        Assert.EndsWith(": do without registered buffers.", refusal.Message, StringComparison.Ordinal);
    }

    private static void Read(DirectBackend kernel, byte[] content, byte* place)
    {
        int file = MemoryCalls.MemoryFile(content);
        kernel.Backend.SubmitRead(ReadToken, file, place, content.Length, offset: 0);
        Assert.Equal(content.Length, kernel.Next(ReadToken).Result);
        _ = SocketCalls.Close(file);
    }

    private static byte[] Sent(DirectBackend kernel, byte* place, int count)
    {
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitSend(SendToken, pair.Ours, new SendRequest(place, (nuint)count) { IsZeroCopy = true });
        Task<byte[]> read = Task.Run(pair.ReceiveToEnd);
        ExpectResultAndNotice(kernel, count);
        kernel.Backend.CloseSocket(pair.Ours);
        return Wait(read);
    }

    [DllImport("libc")]
    private static extern int madvise(void* address, nuint bytes, int advice);
}
