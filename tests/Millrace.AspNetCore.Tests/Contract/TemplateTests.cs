using System.Globalization;
using System.Net.Http.Json;
using Microsoft.Playwright;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>What the SDK's templates make, with a reference and one line more, runs on reactors.</summary>
[Trait("Duration", "Long")]
public class TemplateTests
{
    private const string Beginning = "var builder = WebApplication.CreateBuilder(args);";
    private const string Line = "builder.WebHost.UseMillrace();";

    private sealed record LoadScenario(DateOnly Date, int TemperatureC, int TemperatureF, string? Summary);

    [Fact]
    public async Task The_web_api_template_runs_with_one_line_more()
    {
        using var project = await TemplateProject.MakeAsync("webapi");
        (ChildServer server, Uri url) = await project.StartAsync();
        await using (server)
        {
            using var client = new HttpClient { BaseAddress = url, Timeout = Waiting.Patience };

            for (int i = 0; i < 50; i++)
            {
                LoadScenario[] forecast = (await client.GetFromJsonAsync<LoadScenario[]>("/weatherforecast"))!;
                Assert.Equal(5, forecast.Length);
                Assert.All(forecast, static day => Assert.InRange(day.TemperatureC, -20, 55));
            }

            Assert.Contains("\"/weatherforecast\"", await client.GetStringAsync("/openapi/v1.json"), StringComparison.Ordinal);
            Assert.True(server.HasReactors, "No reactor is in the process.");
        }
    }

    [Fact]
    public async Task The_web_app_template_runs_with_one_line_more_in_a_browser()
    {
        BrowserSession.Require();
        using var project = await TemplateProject.MakeAsync("webapp");
        (ChildServer server, Uri url) = await project.StartAsync();
        await using (server)
        {
            await using BrowserSession browser = await BrowserSession.StartAsync();
            IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), url);
            Assert.Equal("Welcome", await page.GetByRole(AriaRole.Heading, new() { Level = 1 }).TextContentAsync());
            await BrowserSession.PhotographAsync(page, "webapp-home");

            await page.GetByRole(AriaRole.Link, new() { Name = "Privacy" }).First.ClickAsync();
            await page.WaitForURLAsync(new Uri(url, "Privacy").ToString());
            Assert.Equal("Privacy Policy", await page.GetByRole(AriaRole.Heading, new() { Level = 1 }).TextContentAsync());

            // Bootstrap is there and at work: what its style sheet says is what the browser computes.
            Assert.Equal("flex", await page.Locator("nav.navbar").EvaluateAsync<string>("nav => getComputedStyle(nav).display"));
            Assert.Empty(browser.Troubles);
            Assert.All(browser.Statuses, static loaded => Assert.True(loaded.Value is 200 or 304, $"{loaded.Key}: {loaded.Value}"));
            Assert.Contains(browser.Statuses.Keys, static asset => asset.Contains("bootstrap", StringComparison.Ordinal));
            Assert.True(server.HasReactors, "No reactor is in the process.");
        }
    }

    /// <summary>A project as the SDK makes it, in a folder of its own, built with a reference to the library beside these tests.</summary>
    private sealed class TemplateProject : IDisposable
    {
        private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-template-");

        private string Program => Path.Combine(_folder.FullName, "Program.cs");

        private string Project => Path.Combine(_folder.FullName, "Mill.csproj");

        public static async Task<TemplateProject> MakeAsync(string template)
        {
            var project = new TemplateProject();
            try
            {
                await RunDotnetAsync("new", template, "--name", "Mill", "--output", project._folder.FullName, "--no-restore");
                Edit(project.Program, Beginning, $"{Beginning}\n{Line}");
                Edit(project.Project, "</Project>", string.Create(
                    CultureInfo.InvariantCulture,
                    $"""
                      <ItemGroup>
                        <Reference Include="{AppContext.BaseDirectory}Millrace.*.dll" Exclude="{AppContext.BaseDirectory}*.Tests.dll" />
                      </ItemGroup>
                    </Project>
                    """));
                await RunDotnetAsync("build", project._folder.FullName, "--nologo", "-v", "quiet", "-tl:off", "-nodeReuse:false");
                return project;
            }
            catch
            {
                project.Dispose();
                throw;
            }
        }

        /// <summary>In Development, as `dotnet run` does it: the page of the API's description is there only then.</summary>
        public Task<(ChildServer Server, Uri Url)> StartAsync() => ChildServer.StartAsync(
            "Now listening on: ",
            new Dictionary<string, string>
            {
                ["ASPNETCORE_ENVIRONMENT"] = "Development",
                ["ASPNETCORE_URLS"] = "http://127.0.0.1:0",
                ["ASPNETCORE_CONTENTROOT"] = _folder.FullName,
            },
            Path.Combine(_folder.FullName, "bin", "Debug", "net10.0", "Mill"));

        public void Dispose() => _folder.Delete(recursive: true);

        private static Task<string> RunDotnetAsync(params string[] arguments) =>
            Tool.RunToSuccessAsync(TimeSpan.FromMinutes(4), "dotnet", arguments);

        private static void Edit(string path, string old, string new_)
        {
            string text = File.ReadAllText(path);
            Assert.Contains(old, text, StringComparison.Ordinal);
            File.WriteAllText(path, text.Replace(old, new_, StringComparison.Ordinal));
        }
    }
}
