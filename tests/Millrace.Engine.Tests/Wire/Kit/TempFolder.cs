namespace Millrace.Engine.Tests.Wire.Kit;

/// <summary>A folder that goes with its test.</summary>
internal sealed class TempFolder : IDisposable
{
    private readonly string _path = Directory.CreateTempSubdirectory("mr").FullName;

    public string File(string name) => Path.Combine(_path, name);

    public string File(string name, byte[] content)
    {
        System.IO.File.WriteAllBytes(File(name), content);
        return File(name);
    }

    public void Dispose() => Directory.Delete(_path, recursive: true);
}
