using System.IO.MemoryMappedFiles;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>
/// The input under test, in a file mapped to memory: it survives a process that a fault ended, and costs a copy. The file is gone
/// when a run ended by itself.
/// </summary>
internal sealed unsafe class InputLog : IDisposable
{
    private const int Bytes = 64 * 1024;

    private readonly string _path;
    private readonly MemoryMappedFile _file;
    private readonly MemoryMappedViewAccessor _view;
    private readonly byte* _start;

    public InputLog(string path)
    {
        _path = path;
        _file = MemoryMappedFile.CreateFromFile(path, FileMode.Create, null, Bytes);
        _view = _file.CreateViewAccessor();
        _view.SafeMemoryMappedViewHandle.AcquirePointer(ref _start);
    }

    /// <summary>The input that a run was at when it was ended.</summary>
    public static byte[] Read(string path)
    {
        byte[] content = File.ReadAllBytes(path);
        return content.AsSpan(sizeof(int), BitConverter.ToInt32(content)).ToArray();
    }

    public void Write(ReadOnlySpan<byte> input)
    {
        *(int*)_start = input.Length;
        input.CopyTo(new Span<byte>(_start + sizeof(int), Bytes - sizeof(int)));
    }

    public void Clear() => File.Delete(_path);

    public void Dispose()
    {
        _view.SafeMemoryMappedViewHandle.ReleasePointer();
        _view.Dispose();
        _file.Dispose();
    }
}
