using System.Buffers.Binary;
using System.Text;
using Millrace.Interop.Files;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>Sees which entries of one directory are opened (inotify, IN_OPEN). O_PATH does not count as opening.</summary>
internal sealed unsafe class OpenWatch : IDisposable
{
    private const int NonBlock = 0x800;
    private const uint InOpen = 0x20;
    private const int EventHeaderBytes = 16;

    private readonly int _fd;

    public OpenWatch(string directory)
    {
        _fd = TestCalls.InotifyInit(NonBlock);
        Assert.True(_fd >= 0);
        Assert.True(TestCalls.InotifyAddWatch(_fd, directory, InOpen) >= 0);
    }

    /// <summary>The names opened so far; empty for the directory itself.</summary>
    public HashSet<string> OpenedNames() => [.. Opened()];

    /// <summary>Each opening since the last call, by its name. Events are queued before an open returns.</summary>
    public List<string> Opened()
    {
        var names = new List<string>();
        byte[] buffer = new byte[16 * 1024];
        nint bytes;
        fixed (byte* bufferPtr = buffer)
        {
            bytes = TestCalls.Read(_fd, bufferPtr, (nuint)buffer.Length);
        }

        for (ReadOnlySpan<byte> events = buffer.AsSpan(0, (int)Math.Max(bytes, 0)); !events.IsEmpty;)
        {
            int nameBytes = BinaryPrimitives.ReadInt32LittleEndian(events[12..]);
            names.Add(Encoding.UTF8.GetString(events.Slice(EventHeaderBytes, nameBytes)).TrimEnd('\0'));
            events = events[(EventHeaderBytes + nameBytes)..];
        }

        return names;
    }

    public void Dispose() => Assert.Equal(0, FileCalls.Close(_fd));
}
