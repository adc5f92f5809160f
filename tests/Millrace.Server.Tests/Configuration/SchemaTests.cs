using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using Millrace.Server.Commands;
using Millrace.Server.Configuration;
using Millrace.Server.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.Server.Tests.Configuration;

/// <summary>
/// The schema in the hands of Ajv, which validates it as well: what editors and the server say of a file is the same, as far as a schema
/// can say it.
/// </summary>
public partial class SchemaTests
{
    private const string Valid = "valid";
    private const int RandomFiles = 400;

    private static readonly Lazy<Task<string>> Validator = new(static () => NodeProject.MakeAsync(
        Path.Combine(Places.Repository, "tests", "Millrace.Server.Tests", "Schema"), "schema"));

    [Fact]
    public async Task All_that_is_shown_to_people_is_valid()
    {
        string[] files =
        [
            InitCommand.StarterFile,
            Regex.Replace(InitCommand.StarterFile, "^  // (?=[\" {}\\]])", "  ", RegexOptions.Multiline),
            .. Shown("docs", "*.md").Concat(Shown("deploy", "*.md")).SelectMany(static path => Fences().Matches(File.ReadAllText(path)))
                .Select(static fence => fence.Groups["text"].Value)
                .Where(static text => text.TrimStart().StartsWith('{') && !text.Contains("...", StringComparison.Ordinal) && IsConfiguration(text)),
            .. Shown("deploy", "*.json").Select(File.ReadAllText).Where(IsConfiguration),
        ];
        Assert.True(files.Length >= 3, "No example was found.");
        Assert.All(await JudgeAsync([.. files.Select(Plain)]), static verdict => Assert.Equal(Valid, verdict));
    }

    /// <summary>As an operator sees it: by the program, from the file alone.</summary>
    [Theory]
    [InlineData("""[]""")]
    [InlineData("""{ "lisen": 8080 }""")]
    [InlineData("""{ "listen": 65536 }""")]
    [InlineData("""{ "listen": -1 }""")]
    [InlineData("""{ "listen": true }""")]
    [InlineData("""{ "listen": [8080, null] }""")]
    [InlineData("""{ "listing": "on" }""")]
    [InlineData("""{ "dotfiles": "show" }""")]
    [InlineData("""{ "limits": 5 }""")]
    [InlineData("""{ "limits": { "drain": -1 } }""")]
    [InlineData("""{ "limits": { "connections": 0 } }""")]
    [InlineData("""{ "limits": { "connections": "many" } }""")]
    [InlineData("""{ "limits": { "head-max": "8x" } }""")]
    [InlineData("""{ "keep-alive-timeout": 5 }""")]
    [InlineData("""{ "header": { "name": "X-A" } }""")]
    [InlineData("""{ "header": { "name": "X-A", "value": "b", "color": "red" } }""")]
    [InlineData("""{ "redirect": [{ "from": "/a", "to": ["/b"] }] }""")]
    [InlineData("""{ "cache-control": { "*.css": 60 } }""")]
    [InlineData("""{ "cache-control": { "/a=b": "no-cache" } }""")]
    [InlineData("""{ "cache-control": [{ "/a": 60 }] }""")]
    [InlineData("""{ "mime": ["a=text/a", ["b=text/b"]] }""")]
    [InlineData("""{ "header": [{ "name": "X:A", "value": "b" }] }""")]
    [InlineData("""{ "header": [{ "path": "/a=b", "name": "X-A", "value": "c" }] }""")]
    [InlineData("""{ "header": { "name": "X-A", "value": 1.5 } }""")]
    [InlineData("""{ "index": ["a.html,b.html"] }""")]
    [InlineData("""{ "https": { "listen": [false] } }""")]
    [InlineData("""{ "listen": 8080.5 }""")]
    [InlineData("""{ "hosts": ["a.example"] }""")]
    [InlineData("""{ "hosts": { "a.example": { "listing": true } } }""")]
    [InlineData("""{ "hosts": { "a.example": { "root": ".", "listen": 80 } } }""")]
    [InlineData("""{ "hosts": { "a.example": null } }""")]
    [InlineData("""{ "$schema": 5 }""")]
    public async Task What_is_wrong_is_refused_by_the_schema_and_by_check(string file)
    {
        Assert.NotEqual(Valid, Assert.Single(await JudgeAsync([file])));
        using var folder = new TempFolder();
        folder.WriteText("m.json", file);
        ToolResult check = await Tool.RunAsync(Publication.Program, "check", folder.PathOf("m.json"));
        Assert.Equal(2, check.ExitCode);
        Assert.StartsWith($"millrace: {folder.PathOf("m.json")}:1:", check.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("""{ "cache-control": [{ "/a": "no-cache", "/b": "max-age=1" }, "/c=no-store"] }""")]
    [InlineData("""{ "mime": [] }""")]
    [InlineData("""{ "header": ["X-A: b", { "name": "X-B", "value": 5 }] }""")]
    [InlineData("""{ "redirect": [{ "from": "/a", "to": "/b", "status": 302.0 }] }""")]
    [InlineData("""{ "index": "a.html,b.html" }""")]
    [InlineData("""{ "https": { "listen": [true, "127.0.0.1:0"] } }""")]
    [InlineData("""{ "listen": 8.08e3, "limits": { "connections": 50.0 } }""")]
    public async Task What_is_right_is_taken_by_both(string file)
    {
        Assert.Equal(Valid, Assert.Single(await JudgeAsync([file])));
        Assert.Empty(ErrorsOf(file));
    }

    [Fact]
    public async Task Files_made_at_random_and_spoilt_in_one_place_are_judged_alike_by_both()
    {
        int seed = Environment.GetEnvironmentVariable("MILLRACE_TEST_ALL") is "1" ? Random.Shared.Next() : 1;
        RandomFile[] files = [.. Enumerable.Range(0, RandomFiles).Select(i => RandomFile.Make(unchecked(seed + i)))];
        string[] verdicts = await JudgeAsync([.. files.Select(static file => file.Text)]);
        foreach ((RandomFile file, string verdict) in files.Zip(verdicts))
        {
            List<OptionError> errors = ErrorsOf(file.Text);
            string reported = $"seed {file.Seed}, {file.Spoilt}: {file.Text}\nschema: {verdict}\nserver: {string.Join("; ", errors)}";
            Assert.True((verdict == Valid) == (errors.Count == 0), reported);
            Assert.True((file.Spoilt is null) == (verdict == Valid), reported);
        }
    }

    /// <summary>What the server says of the file's form and of each value. What has to fit together no schema says.</summary>
    private static List<OptionError> ErrorsOf(string text)
    {
        var errors = new List<OptionError>();
        FileSettings file = ConfigurationFile.Read(new FileText("/srv/m.json", Encoding.UTF8.GetBytes(text)), errors);
        foreach (Setting setting in file.Hosts.Values.Prepend(file.Shared).SelectMany(static set => set.All))
        {
            foreach (SettingValue value in setting.Values)
            {
                try
                {
                    _ = setting.Option.Apply(new ServeOptions(), value.Text);
                }
                catch (SiteException refusal)
                {
                    errors.Add(OptionError.About(setting.Option, value.Origin, refusal));
                }
            }
        }

        return errors;
    }

    private static async Task<string[]> JudgeAsync(string[] files)
    {
        string validator = await Validator.Value;
        using var folder = new TempFolder();
        folder.WriteText("lines", string.Join('\n', files.Select(static file => file.ReplaceLineEndings(" "))));
        string output = await Tool.RunToSuccessAsync(
            TimeSpan.FromSeconds(60),
            "node", Path.Combine(validator, "validate.mjs"), Path.Combine(Places.Repository, "docs", "millrace.schema.json"), folder.PathOf("lines"));
        string[] verdicts = output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(files.Length, verdicts.Length);
        return verdicts;
    }

    private static string[] Shown(string folder, string pattern) =>
        Directory.GetFiles(Path.Combine(Places.Repository, folder), pattern, SearchOption.AllDirectories);

    /// <summary>Without comments and trailing commas.</summary>
    private static string Plain(string text) => Parse(text)!.ToJsonString();

    private static JsonNode? Parse(string text) => JsonNode.Parse(
        text, documentOptions: new JsonDocumentOptions { CommentHandling = JsonCommentHandling.Skip, AllowTrailingCommas = true });

    /// <summary>Lines of logs, answers and other programs' files are shown too: a configuration has a key of ours.</summary>
    private static bool IsConfiguration(string text)
    {
        try
        {
            return Parse(text) is JsonObject file
                && file.Any(static member => OptionTable.All.Any(option => option.Path.Split('.')[0] == member.Key));
        }
        catch (JsonException)
        {
            return false;
        }
    }

    [GeneratedRegex(@"^[ \t]*```jsonc?\n(?<text>.*?)^[ \t]*```", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Fences();
}
