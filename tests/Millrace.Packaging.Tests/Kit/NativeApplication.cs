using Millrace.Server.Tests.Kit;

namespace Millrace.Packaging.Tests;

/// <summary>
/// An application that is compiled ahead of time (<c>PublishAot</c>) from the packages of a feed, in a folder of its own. It serves a site
/// and an endpoint over HTTP, and over HTTPS by both ways to terminate TLS.
/// </summary>
internal sealed class NativeApplication : IDisposable
{
    /// <summary>The compiler takes a minute of both processors, and others may be using them.</summary>
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(15);

    private readonly TempFolder _folder = new();

    public string Program => _folder.PathOf("published/Application");

    public string Site => _folder.PathOf("site");

    public string Certificate => _folder.PathOf("own.crt");

    public string Key => _folder.PathOf("own.key");

    /// <summary>Publishes it; the test is skipped where the compiler's package cannot be restored.</summary>
    public static async Task<NativeApplication> PublishAsync(Feed feed)
    {
        var application = new NativeApplication();
        await application.WriteAsync(feed);
        ToolResult restored = await application.DotnetAsync("restore");
        Assert.SkipWhen(
            restored.ExitCode != 0 && restored.Output.Contains("ILCompiler", StringComparison.Ordinal),
            "The package of the AOT compiler cannot be restored.");
        Assert.True(restored.ExitCode == 0, restored.Output + restored.Error);

        ToolResult published = await application.DotnetAsync("publish", "-o", application._folder.PathOf("published"));
        Assert.True(published.ExitCode == 0, published.Output + published.Error);
        return application;
    }

    public void Dispose() => _folder.Dispose();

    private Task<ToolResult> DotnetAsync(string command, params string[] arguments) => Tool.RunAsync(
        Deadline,
        "dotnet", [command, _folder.Root, "--use-current-runtime", "--nologo", "-v", "minimal", "-tl:off", "-nodeReuse:false", .. arguments]);

    /// <summary>The feed beside the sources that this machine has, for the compiler.</summary>
    private async Task WriteAsync(Feed feed)
    {
        await File.WriteAllTextAsync(_folder.PathOf("nuget.config"),
            $"""
            <configuration>
              <config><add key="globalPackagesFolder" value="packages" /></config>
              <packageSources><add key="feed" value="{feed.Root}" /></packageSources>
              <fallbackPackageFolders><add key="restored" value="{Feed.RestoredPackages}" /></fallbackPackageFolders>
            </configuration>
            """);
        await File.WriteAllTextAsync(_folder.PathOf("Application.csproj"),
            """
            <Project Sdk="Microsoft.NET.Sdk.Web">
              <PropertyGroup>
                <TargetFramework>net10.0</TargetFramework>
                <ImplicitUsings>enable</ImplicitUsings>
                <TreatWarningsAsErrors>true</TreatWarningsAsErrors>
                <PublishAot>true</PublishAot>
                <DebugType>none</DebugType>
              </PropertyGroup>
              <ItemGroup>
                <PackageReference Include="Millrace.AspNetCore" Version="*-*" />
              </ItemGroup>
            </Project>
            """);
        await File.WriteAllTextAsync(_folder.PathOf("Program.cs"),
            """
            using System.Net;
            using System.Security.Cryptography.X509Certificates;

            WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
            builder.WebHost.UseKestrelHttpsConfiguration();
            builder.WebHost.UseMillrace().ConfigureKestrel(kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, 0);
                kestrel.Listen(IPAddress.Loopback, 0, listen => listen.UseMillraceHttps(https =>
                    https.ServerCertificate = X509Certificate2.CreateFromPemFile(args[1], args[2])));
                kestrel.Listen(IPAddress.Loopback, 0, listen => listen.UseHttps(X509Certificate2.CreateFromPemFile(args[1], args[2])));
            });
            WebApplication app = builder.Build();
            app.UseMillraceStaticFiles(args[0]);
            app.MapGet("/hello", (HttpContext context) => $"{context.Request.Protocol} {(context.GetReactor() is null ? "elsewhere" : "on a reactor")}");
            await app.StartAsync();
            foreach (string url in app.Urls)
            {
                Console.WriteLine($"Listening on {url}");
            }

            Console.WriteLine("Serving");
            await app.WaitForShutdownAsync();
            """);
        Directory.CreateDirectory(Site);
        await File.WriteAllTextAsync(Path.Combine(Site, "index.html"), "A page.");
        await File.WriteAllTextAsync(Path.Combine(Site, "words.txt"), string.Concat(Enumerable.Repeat("some words\n", 20_000)));
        OwnCertificate.Make(_folder, "own", "localhost");
    }
}
