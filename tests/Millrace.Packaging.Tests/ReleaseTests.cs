using System.Reflection.Metadata;
using System.Text;
using System.Xml.Linq;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>What a tag makes on GitHub, and what an archive of the sources makes anywhere.</summary>
[Trait("Duration", "Long")]
public class ReleaseTests
{
    private const string Repository = "https://github.com/example/millrace";

    /// <summary>The kind of a portable PDB's custom record that says where the sources are.</summary>
    private static readonly Guid SourceLink = new("CC110556-A091-4D38-9FEC-25AB9A351A6A");

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(8);

    /// <summary>
    /// In two folders, so that nothing of a folder is in them. The generator of log messages writes the classes of an assembly in any order,
    /// and its text is in the symbols, of which the assembly has a hash: those with several classes differ from build to build.
    /// </summary>
    [Fact]
    public async Task A_tag_makes_packages_that_name_it_and_their_sources_and_makes_the_same_ones_again()
    {
        using SourceCopy first = await SourceCopy.OfTagAsync("v9.8.7", Repository);
        using SourceCopy second = await SourceCopy.OfTagAsync("v9.8.7", Repository);
        string commit = await first.CommitAsync();

        string packages = await PackAsync(first);

        Assert.Equal(6, Feed.PackagesIn(packages).Count);
        Assert.All(Feed.PackagesIn(packages).Values, package =>
        {
            XElement metadata = Feed.Metadata(package);
            XElement repository = metadata.Elements().Single(static element => element.Name.LocalName == "repository");
            Assert.Equal("9.8.7", Text(metadata, "version"));
            Assert.Equal(Repository, Text(metadata, "projectUrl"));
            Assert.Equal((Repository, commit), ((string?)repository.Attribute("url"), (string?)repository.Attribute("commit")));
        });
        Assert.All(Feed.SymbolsIn(packages).Values, symbols =>
        {
            byte[] pdb = Feed.Entries(symbols).Single(static entry => entry.Key.EndsWith(".pdb", StringComparison.Ordinal)).Value;
            Assert.Contains($"https://raw.githubusercontent.com/example/millrace/{commit}/*", SourcesOf(pdb), StringComparison.Ordinal);
        });
        string again = await PackAsync(second);
        Assert.All(Directory.GetFiles(packages), package => AssertSame(package, Path.Combine(again, Path.GetFileName(package))));
    }

    [Fact]
    public async Task A_tag_makes_a_program_that_says_so_and_names_no_folder()
    {
        using SourceCopy sources = await SourceCopy.OfTagAsync("v9.8.7-rc.1", Repository);

        string program = await PublishAsync(sources);

        Assert.Equal("9.8.7-rc.1\n", (await Tool.RunAsync(program, "--version")).Output);
        byte[] bytes = await File.ReadAllBytesAsync(program);
        Assert.Equal(-1, bytes.AsSpan().IndexOf(Encoding.UTF8.GetBytes(sources.Root)));
    }

    /// <summary>Without git it is not known which version it is.</summary>
    [Theory]
    [InlineData("0.2.0-dev")]
    [InlineData("7.6.5", "-p:Version=7.6.5")]
    public async Task An_archive_of_the_sources_makes_a_program_too(string version, params string[] arguments)
    {
        using SourceCopy sources = await SourceCopy.OfArchiveAsync();

        string program = await PublishAsync(sources, arguments);

        Assert.Equal($"{version}\n", (await Tool.RunAsync(program, "--version")).Output);
    }

    private static async Task<string> PackAsync(SourceCopy sources)
    {
        string packages = Path.Combine(sources.Root, "packages");
        await Feed.PackAsync(
            sources.Root, packages, "CI=true", "GITHUB_ACTIONS=true", "GITHUB_SERVER_URL=https://github.com", "GITHUB_REPOSITORY=example/millrace");
        return packages;
    }

    private static async Task<string> PublishAsync(SourceCopy sources, params string[] arguments)
    {
        string folder = Path.Combine(sources.Root, "out");
        await Tool.RunToSuccessAsync(
            Deadline,
            "dotnet", ["publish", Path.Combine(sources.Root, "src", "Millrace.Server"), "-p:PublishProfile=NativeAot", "-o", folder,
                "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false", .. arguments]);
        return Path.Combine(folder, "millrace");
    }

    private static void AssertSame(string package, string other)
    {
        IReadOnlyDictionary<string, byte[]> entries = Feed.Entries(other);
        Assert.All(Feed.Entries(package).Where(static entry => !entry.Key.Contains("/Millrace.StaticFiles.", StringComparison.Ordinal)), entry =>
            Assert.True(entry.Value.AsSpan().SequenceEqual(entries[entry.Key]), $"{Path.GetFileName(package)}: {entry.Key} is another"));
    }

    private static string SourcesOf(byte[] pdb)
    {
        using MetadataReaderProvider provider = MetadataReaderProvider.FromPortablePdbStream(new MemoryStream(pdb));
        MetadataReader reader = provider.GetMetadataReader();
        CustomDebugInformation record = reader.CustomDebugInformation.Select(reader.GetCustomDebugInformation)
            .Single(information => reader.GetGuid(information.Kind) == SourceLink);
        return Encoding.UTF8.GetString(reader.GetBlobBytes(record.Value));
    }

    private static string Text(XElement metadata, string name) =>
        metadata.Elements().Single(element => element.Name.LocalName == name).Value;
}
