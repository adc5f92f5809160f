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

    public async ValueTask InitializeAsync() => await PackAsync(Places.Repository, _folder.Root);

    /// <summary>Makes the packages of the sources in a folder, with these words of env(1) before.</summary>
    internal static Task<string> PackAsync(string sources, string packages, params string[] environment) => Tool.RunToSuccessAsync(
        Deadline,
        "env", [.. environment, "dotnet", "pack", Path.Combine(sources, "deploy", "nuget", "Packages.slnx"), "-o", packages,
            "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false"]);

    /// <summary>Packages by name, without their symbols.</summary>
    internal IReadOnlyDictionary<string, string> Packages => PackagesIn(_folder.Root);

    internal IReadOnlyDictionary<string, string> Symbols => SymbolsIn(_folder.Root);

    internal static IReadOnlyDictionary<string, string> PackagesIn(string folder) => Directory.GetFiles(folder, "*.nupkg").ToDictionary(Name);

    internal static IReadOnlyDictionary<string, string> SymbolsIn(string folder) => Directory.GetFiles(folder, "*.snupkg").ToDictionary(Name);

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

    /// <summary>The name without version: Millrace.Engine of Millrace.Engine.0.2.0.nupkg.</summary>
    private static string Name(string path) => string.Join('.', Path.GetFileName(path).Split('.').TakeWhile(static word => !char.IsDigit(word[0])));

    private static byte[] Read(ZipArchiveEntry entry)
    {
        using Stream stream = entry.Open();
        using var bytes = new MemoryStream();
        stream.CopyTo(bytes);
        return bytes.ToArray();
    }
}
