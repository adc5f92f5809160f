using System.Text;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using Millrace.Server.Completions;
using Millrace.Server.Manual;
using Millrace.Server.Options;
using Millrace.Server.Options.Files;
using Millrace.Server.Options.Reference;
using Millrace.Server.Options.Settings;
using Millrace.Server.Tests.Completions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Options;

/// <summary>
/// What is made from the table and kept in the repository is as the table has it. MILLRACE_ACCEPT_DOCS=1 writes the files anew, except
/// in CI.
/// </summary>
public class ReferenceTests
{
    [Fact]
    public void The_schema_in_the_repository_is_the_server_s() => AssertKept("docs/millrace.schema.json", ConfigurationSchema.Text);

    [Fact]
    public void The_reference_in_the_repository_is_the_server_s() => AssertKept("docs/configuration.md", ReferencePage.Text);

    [Fact]
    public void The_manual_in_the_repository_is_the_server_s() => AssertKept("deploy/man/millrace.1", ManualPage.Of(Shell.Outline));

    [Theory]
    [InlineData("bash")]
    [InlineData("zsh")]
    [InlineData("fish")]
    public void Completions_in_the_repository_are_the_server_s(string shell) =>
        AssertKept($"deploy/completions/millrace.{shell}", CompletionScript.Shells[shell](Shell.Outline));

    [Fact]
    public void The_schema_has_every_option_and_hosts_have_every_option_of_sites()
    {
        JsonNode schema = JsonNode.Parse(ConfigurationSchema.Text)!;
        foreach (ServerOption option in OptionTable.All)
        {
            JsonNode? node = schema;
            foreach (string name in option.Path.Split('.'))
            {
                node = node?["properties"]?[name];
            }

            Assert.NotNull(node?["description"]);
        }

        JsonObject site = schema["properties"]!["hosts"]!["additionalProperties"]!["anyOf"]![1]!["properties"]!.AsObject();
        Assert.Equal(OptionTable.All.Count(option => option.Scope == OptionScope.Site) + 1, site.Count);
    }

    /// <summary>As it is, and with all that is commented out.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public void What_init_writes_is_a_configuration(bool isUncommented)
    {
        string text = isUncommented ? Regex.Replace(StarterFile.Text, "^  // (?=[\" {}\\]])", "  ", RegexOptions.Multiline) : StarterFile.Text;
        var complaints = new List<Complaint>();
        FileSettings file = ConfigurationFile.Read(new FileText("/srv/a.json", Encoding.UTF8.GetBytes(text)), complaints);
        ServeOptions options = Composition.Compose(SettingSet.Empty, SettingSet.Empty, file, complaints);

        Assert.Empty(complaints);
        Assert.Equal(isUncommented ? 2 : 0, options.Hosts.Count);
        Assert.Equal(isUncommented ? 20_000 : 65_536, options.Engine.Limits.Connections);
    }

    private static void AssertKept(string path, string text)
    {
        string full = Path.Combine(Places.Repository, path);
        if (Environment.GetEnvironmentVariable("MILLRACE_ACCEPT_DOCS") == "1" && Environment.GetEnvironmentVariable("CI") != "true")
        {
            Directory.CreateDirectory(Path.GetDirectoryName(full)!);
            File.WriteAllText(full, text);
        }

        Assert.True(
            File.Exists(full) && File.ReadAllText(full) == text,
            $"{path} is not what the table of options and the commands make of it: accept the change with MILLRACE_ACCEPT_DOCS=1 and commit the file.");
    }
}
