namespace Millrace.AspNetCore.Tests.StaticFiles.Kit;

/// <summary>A folder of its own for one test, and a root in it.</summary>
internal sealed class SiteFolder : IDisposable
{
    /// <summary>Long past: what has just been written has weak dates, and gets other tags when it has settled.</summary>
    private static readonly DateTime Modified = new(2024, 2, 3, 4, 5, 6, DateTimeKind.Utc);

    private readonly string _path = Directory.CreateTempSubdirectory("millrace-aspnetcore-").FullName;

    public SiteFolder() => Directory.CreateDirectory(Root);

    public string Root => PathOf("site");

    public string PathOf(string name) => Path.Combine(_path, name);

    /// <summary>Writes a file below the root.</summary>
    public byte[] Add(string name, byte[] content)
    {
        string path = Path.Combine(Root, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllBytes(path, content);
        File.SetLastWriteTimeUtc(path, Modified);
        return content;
    }

    public byte[] Add(string name, int bytes) => Add(name, Pattern(bytes, seed: bytes));

    public byte[] Add(string name, string text) => Add(name, System.Text.Encoding.UTF8.GetBytes(text));

    /// <summary>Bytes that are the same in every run and look alike nowhere.</summary>
    public static byte[] Pattern(int bytes, int seed)
    {
        byte[] content = new byte[bytes];
#pragma warning disable CA5394 // Not for secrets: the bytes have to be the same in every run.
        new Random(seed).NextBytes(content);
#pragma warning restore CA5394
        return content;
    }

    public void Dispose() => Directory.Delete(_path, recursive: true);
}
