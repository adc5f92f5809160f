using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using System.Xml.Linq;
using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>The libraries as others get them.</summary>
public partial class LibraryPackageTests(Feed feed) : IClassFixture<Feed>
{
    private static readonly TimeSpan BuildDeadline = TimeSpan.FromMinutes(8);

    private static readonly string[] Libraries =
    [
        "Millrace.Acme", "Millrace.AspNetCore", "Millrace.Engine", "Millrace.Http", "Millrace.Interop", "Millrace.Quic",
        "Millrace.QuicTransport", "Millrace.StaticFiles", "Millrace.Tls",
    ];

    [Fact]
    public void Every_library_that_is_referred_to_is_a_package_with_symbols()
    {
        Assert.Equal(Libraries, feed.Packages.Keys.Order(StringComparer.Ordinal));
        Assert.Equal(Libraries, feed.Symbols.Keys.Order(StringComparer.Ordinal));
        Assert.All(feed.Symbols, static symbols =>
            Assert.Contains($"lib/net10.0/{symbols.Key}.pdb", Feed.Entries(symbols.Value).Keys));
    }

    [Fact]
    public void A_package_has_code_documentation_readme_icon_and_licence() => Assert.All(feed.Packages, static package =>
    {
        IReadOnlyDictionary<string, byte[]> entries = Feed.Entries(package.Value);
        XElement metadata = Feed.Metadata(package.Value);

        Assert.Contains($"lib/net10.0/{package.Key}.dll", entries.Keys);
        Assert.Contains($"lib/net10.0/{package.Key}.xml", entries.Keys);
        Assert.StartsWith("# Millrace", Encoding.UTF8.GetString(entries[Text(metadata, "readme")]), StringComparison.Ordinal);
        Assert.Equal("PNG"u8, entries[Text(metadata, "icon")].AsSpan(1, 3));
        Assert.Equal("MIT", Text(metadata, "license"));
        Assert.Equal("The Millrace authors", Text(metadata, "authors"));
        Assert.InRange(Text(metadata, "description").Length, 40, 200);
    });

    [Fact]
    public void A_package_names_neither_a_repository_nor_a_folder_of_the_machine_that_made_it() => Assert.All(feed.Packages, static package =>
    {
        Assert.DoesNotContain(Feed.Metadata(package.Value).Elements(), static element => element.Name.LocalName is "repository" or "projectUrl");
        byte[] folder = Encoding.UTF8.GetBytes(Places.Repository);
        Assert.All(Feed.Entries(package.Value).Values, bytes => Assert.Equal(-1, bytes.AsSpan().IndexOf(folder)));
    });

    [Fact]
    public void A_package_documents_what_its_readers_can_use_and_nothing_else() => Assert.All(feed.Packages, static package =>
    {
        IReadOnlyDictionary<string, byte[]> entries = Feed.Entries(package.Value);
        IReadOnlySet<string> usable = UsableMembers.Of(entries[$"lib/net10.0/{package.Key}.dll"]);
        string[] documented =
        [
            .. XDocument.Load(new MemoryStream(entries[$"lib/net10.0/{package.Key}.xml"])).Descendants("member")
                .Select(static member => UsableMembers.Simplify((string)member.Attribute("name")!)),
        ];

        Assert.Empty(documented.Except(usable));
        Assert.Empty(usable.Where(static member => member.StartsWith("T:", StringComparison.Ordinal)).Except(documented));
        int least = package.Key is "Millrace.Http" or "Millrace.Interop" or "Millrace.Quic" or "Millrace.QuicTransport" ? 0 : 5;
        Assert.InRange(documented.Count(static member => member[0] is 'M' or 'P' or 'F'), least, int.MaxValue);
    });

    /// <summary>They see each other's internals.</summary>
    [Fact]
    public void A_package_goes_with_those_of_its_own_version_only() => Assert.All(feed.Packages, static package =>
    {
        XElement metadata = Feed.Metadata(package.Value);
        string exact = $"[{Text(metadata, "version")}]";
        IEnumerable<XElement> dependencies = metadata.Descendants().Where(static element => element.Name.LocalName == "dependency"
            && ((string?)element.Attribute("id"))!.StartsWith("Millrace.", StringComparison.Ordinal));

        Assert.All(dependencies, dependency => Assert.Equal(exact, (string?)dependency.Attribute("version")));
        Assert.True(dependencies.Any() || package.Key is "Millrace.Http" or "Millrace.Interop" or "Millrace.Quic", $"{package.Key} refers to no other package");
    });

    [Fact]
    public async Task An_application_elsewhere_refers_to_the_package_and_serves()
    {
        using var application = new TempFolder();
        await WriteApplicationAsync(application);
        await BuildAsync(application);

        await using ServerProcess server = await ServerProcess.StartAsync(
            "dotnet", [application.PathOf("bin/Release/net10.0/Application.dll"), application.PathOf("site")], "Serving");

        using var client = new HttpClient();
        Assert.Equal("on a reactor", await client.GetStringAsync(new Uri(server.Url, "hello")));
        Assert.Equal("A page.", await client.GetStringAsync(server.Url));
        using HttpResponseMessage missing = await client.GetAsync(new Uri(server.Url, "missing"));
        Assert.Equal(HttpStatusCode.NotFound, missing.StatusCode);
    }

    [Fact]
    public async Task Programs_in_the_documents_compile()
    {
        using var application = new TempFolder();
        await WriteApplicationAsync(application);
        string[] programs =
        [
            .. ((string[])["README.md", "src/PACKAGE.md", "docs/aspnetcore.md"])
                .SelectMany(static document => CSharp().Matches(Places.Read(document)))
                .Select(static match => match.Groups["text"].Value)
                .Where(static text => text.Contains("WebApplication.CreateBuilder(args)", StringComparison.Ordinal)
                    || text.Contains("ReactorGroup.StartAsync", StringComparison.Ordinal)),
        ];
        Assert.Equal(5, programs.Length);
        foreach ((int index, string text) in programs.Index())
        {
            await File.WriteAllTextAsync(application.PathOf($"Snippet{index}.cs"),
                $$"""
                using System.Net;
                using Millrace.AspNetCore;
                using Millrace.Engine;

                internal static class Snippet{{index}}
                {
                    internal static async Task RunAsync(string[] args)
                    {
                {{text}}
                        await Task.CompletedTask;
                    }
                }
                """);
        }

        await BuildAsync(application);
    }

    [Fact]
    public async Task An_application_that_is_compiled_ahead_of_time_serves_http_https_with_h2_and_a_site()
    {
        using NativeApplication application = await NativeApplication.PublishAsync(feed);
        Assert.False(File.Exists(application.Program + ".dll"));
        await using ServerProcess server = await ServerProcess.StartAsync(
            application.Program, [application.Site, application.Certificate, application.Key], "Serving");

        Assert.Equal(["http", "https", "https"], server.Addresses.Select(static address => new Uri(address).Scheme));
        string words = await File.ReadAllTextAsync(Path.Combine(application.Site, "words.txt"));
        foreach (string address in server.Addresses)
        {
            foreach (Version version in address.StartsWith("https", StringComparison.Ordinal)
                ? (Version[])[HttpVersion.Version11, HttpVersion.Version20] : [HttpVersion.Version11])
            {
                using HttpClient client = OwnCertificate.Trusting();
                client.BaseAddress = new Uri(address);
                client.DefaultRequestVersion = version;
                client.DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact;
                Assert.Equal($"HTTP/{(version.Major == 1 ? "1.1" : "2")} on a reactor", await client.GetStringAsync("/hello"));
                Assert.Equal("A page.", await client.GetStringAsync("/"));
                Assert.Equal(words, await client.GetStringAsync("/words.txt"));
            }
        }
    }

    private static Task<string> BuildAsync(TempFolder application) => Tool.RunToSuccessAsync(
        BuildDeadline, "dotnet", "build", application.Root, "-c", "Release", "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");

    /// <summary>Its own folder of packages has Millrace's alone: what else is needed was restored for this repository already.</summary>
    private async Task WriteApplicationAsync(TempFolder application)
    {
        await File.WriteAllTextAsync(application.PathOf("nuget.config"),
            $"""
            <configuration>
              <config><add key="globalPackagesFolder" value="packages" /></config>
              <packageSources><clear /><add key="feed" value="{feed.Root}" /></packageSources>
              <fallbackPackageFolders><add key="restored" value="{Feed.RestoredPackages}" /></fallbackPackageFolders>
            </configuration>
            """);
        await File.WriteAllTextAsync(application.PathOf("Application.csproj"),
            """
            <Project Sdk="Microsoft.NET.Sdk.Web">
              <PropertyGroup>
                <TargetFramework>net10.0</TargetFramework>
                <ImplicitUsings>enable</ImplicitUsings>
                <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
              </PropertyGroup>
              <ItemGroup>
                <PackageReference Include="Millrace.AspNetCore" Version="*-*" />
              </ItemGroup>
            </Project>
            """);
        await File.WriteAllTextAsync(application.PathOf("Program.cs"),
            """
            using Millrace.AspNetCore;

            WebApplicationBuilder builder = WebApplication.CreateBuilder();
            builder.WebHost.UseMillrace().UseUrls("http://127.0.0.1:0");
            WebApplication app = builder.Build();
            app.UseMillraceStaticFiles(args[0]);
            app.MapGet("/hello", (HttpContext context) => context.GetReactor() is null ? "elsewhere" : "on a reactor");
            await app.StartAsync();
            Console.WriteLine($"Listening on {app.Urls.Single()}");
            Console.WriteLine("Serving");
            await app.WaitForShutdownAsync();
            """);
        Directory.CreateDirectory(application.PathOf("site"));
        await File.WriteAllTextAsync(application.PathOf("site/index.html"), "A page.");
    }

    private static string Text(XElement metadata, string name) =>
        metadata.Elements().Single(element => element.Name.LocalName == name).Value;

    [GeneratedRegex(@"^```csharp\n(?<text>.*?)^```$", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex CSharp();
}
