using System.IO.Compression;
using System.Xml.Linq;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The libraries as packages, in a folder, made once for all tests.</summary>
public sealed class Feed : IAsyncLifetime
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(8);

    private readonly TempFolder _folder = new();

    internal string Root => _folder.Root;

    /// <summary>Where what this repository needs was restored to.</summary>
    internal static string RestoredPackages { get; } = Environment.GetEnvironmentVariable("NUGET_PACKAGES") is { Length: > 0 } reported
        ? reported
        : Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".nuget", "packages");

    public async ValueTask InitializeAsync() => await Tool.RunToSuccessAsync(
        Deadline,
        "dotnet", "pack", Path.Combine(Places.Repository, "deploy", "nuget", "Packages.slnx"), "-o", _folder.Root,
        "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");

    /// <summary>Packages by name, without their symbols.</summary>
    internal IReadOnlyDictionary<string, string> Packages => Directory.GetFiles(_folder.Root, "*.nupkg").ToDictionary(Name);

    internal IReadOnlyDictionary<string, string> Symbols => Directory.GetFiles(_folder.Root, "*.snupkg").ToDictionary(Name);

    internal static IReadOnlyDictionary<string, byte[]> Entries(string package)
    {
        using ZipArchive archive = ZipFile.OpenRead(package);
        return archive.Entries.ToDictionary(static entry => entry.FullName, Read);
    }

    internal static XElement Metadata(string package)
    {
        byte[] nuspec = Entries(package).Single(static entry => entry.Key.EndsWith(".nuspec", StringComparison.Ordinal)).Value;
        return XDocument.Load(new MemoryStream(nuspec)).Root!.Elements().First();
    }

    public ValueTask DisposeAsync()
    {
        _folder.Dispose();
        return default;
    }

    /// <summary>The name without version: Millrace.Engine of Millrace.Engine.0.1.0.nupkg.</summary>
    private static string Name(string path) => string.Join('.', Path.GetFileName(path).Split('.').TakeWhile(static word => !char.IsDigit(word[0])));

    private static byte[] Read(ZipArchiveEntry entry)
    {
        using Stream stream = entry.Open();
        using var bytes = new MemoryStream();
        stream.CopyTo(bytes);
        return bytes.ToArray();
    }
}
