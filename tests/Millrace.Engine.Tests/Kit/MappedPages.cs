using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Kit;

/// <summary>A file in memory with a pattern, mapped, as bodies of a site are. Closed and unmapped by whoever made it.</summary>
internal sealed unsafe class MappedPages : IDisposable
{
    private readonly byte* _address;

    public MappedPages(int id, int bytes)
    {
        Bytes = bytes;
        File = MemoryCalls.MemoryFile(bytes);
        Assert.True(File >= 0, "There is no file in memory.");
        nint address = MemoryCalls.MapFile(File, (nuint)bytes);
        Assert.False(MemoryCalls.Failed(address));
        _address = (byte*)address;
        Pattern.Make(id, bytes).CopyTo(new Span<byte>(_address, bytes));
    }

    public int File { get; }

    public int Bytes { get; }

    public void WriteTo(Connection connection, int first, int count) =>
        connection.WritePages(_address + first, count, File, first);

    public void Dispose()
    {
        _ = MemoryCalls.Unmap((nint)_address, (nuint)Bytes);
        _ = SocketCalls.Close(File);
    }
}
