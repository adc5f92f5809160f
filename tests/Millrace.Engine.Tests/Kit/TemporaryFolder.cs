namespace Millrace.Engine.Tests.Kit;

/// <summary>A folder for the files of one test, removed at its end.</summary>
internal sealed class TemporaryFolder(string? parent = null) : IDisposable
{
    public string Path { get; } =
        Directory.CreateDirectory(System.IO.Path.Combine(parent ?? System.IO.Path.GetTempPath(), $"millrace-{Guid.NewGuid():N}")).FullName;

    public string File(string name) => System.IO.Path.Combine(Path, name);

    public string File(string name, byte[] content)
    {
        System.IO.File.WriteAllBytes(File(name), content);
        return File(name);
    }

    public void Dispose() => Directory.Delete(Path, recursive: true);
}
