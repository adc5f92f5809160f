using System.Text;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using Millrace.DocGenerator.Reference;
using Millrace.Server.Commands;
using Millrace.Server.Configuration;

namespace Millrace.Server.Tests.Configuration;

/// <summary>What is made from the table has all of it, and is what the server reads.</summary>
public class ReferenceTests
{
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
        string text = isUncommented ? Regex.Replace(InitCommand.StarterFile, "^  // (?=[\" {}\\]])", "  ", RegexOptions.Multiline) : InitCommand.StarterFile;
        var errors = new List<OptionError>();
        FileSettings file = ConfigurationFile.Read(new FileText("/srv/a.json", Encoding.UTF8.GetBytes(text)), errors);
        ServeOptions options = ServerConfiguration.Merge(SettingSet.Empty, SettingSet.Empty, file, errors);

        Assert.Empty(errors);
        Assert.Equal(isUncommented ? 2 : 0, options.Hosts.Count);
        Assert.Equal(isUncommented ? 20_000 : 65_536, options.Engine.Limits.Connections);
    }
}
