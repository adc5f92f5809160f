namespace Millrace.Server.Tests.Kit;

/// <summary>A directory of its own for one test.</summary>
internal sealed class TempFolder : IDisposable
{
    public string Root { get; } = Directory.CreateTempSubdirectory("millrace-server-").FullName;

    public string PathOf(string name) => Path.Combine(Root, name);

    public byte[] Add(string name, int bytes)
    {
        byte[] content = new byte[bytes];
#pragma warning disable CA5394 // Not for secrets: the bytes have to be the same in every run.
        new Random(bytes).NextBytes(content);
#pragma warning restore CA5394
        File.WriteAllBytes(PathOf(name), content);
        return content;
    }

    public void WriteText(string name, string text) => File.WriteAllText(PathOf(name), text);

    public void Dispose() => Directory.Delete(Root, recursive: true);
}
