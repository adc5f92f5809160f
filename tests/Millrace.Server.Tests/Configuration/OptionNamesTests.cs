using System.Text;
using Millrace.Server.Configuration;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Configuration;

/// <summary>By which names messages call options.</summary>
public class OptionNamesTests
{
    private const string Message = "Raise it (--entries-max; EntriesMax in code), or use --https-redirect 80.";

    [Theory]
    [InlineData("Raise it (--entries-max), or use --https-redirect 80.", "", "")]
    [InlineData("Raise it (entries-max), or use https.redirect 80.", """{ "entries-max": 5 }""", "")]
    [InlineData("Raise it (entries-max), or use https.redirect 80.", """{ "listing": true }""", "charset")]
    [InlineData("Raise it (--entries-max), or use https.redirect 80.", """{ "listing": true }""", "entries-max")]
    [InlineData("Raise it (entries-max), or use --https-redirect 80.", """{ "hosts": { "a.example": { "root": "a", "entries-max": 5 } } }""", "https-redirect")]
    public void An_option_has_the_name_of_the_source_that_sets_it_and_others_that_of_the_file(string expected, string text, string flag)
    {
        ServeOptions options = Read(text, flag.Length == 0 ? [] : [OptionFlags.SettingOf(OptionTable.Get(flag), "on")], []);

        Assert.Equal(expected, new OptionNames(options).In(Message));
    }

    [Theory]
    [InlineData("Raise it (MILLRACE_ENTRIES_MAX), or use MILLRACE_HTTPS_REDIRECT 80.", "")]
    [InlineData("Raise it (MILLRACE_ENTRIES_MAX), or use MILLRACE_HTTPS_REDIRECT 80.", "root")]
    [InlineData("Raise it (MILLRACE_ENTRIES_MAX), or use --https-redirect 80.", "charset")]
    public void Without_a_file_those_of_the_environment_have_its_names(string expected, string flag)
    {
        ServeOptions options = Read(
            "", flag.Length == 0 ? [] : [OptionFlags.SettingOf(OptionTable.Get(flag), "a")],
            new Dictionary<string, string> { ["MILLRACE_ENTRIES_MAX"] = "5" });

        Assert.Equal(expected, new OptionNames(options).In(Message));
    }

    [Theory]
    [InlineData("'--listen 80' and '/a/--listen' and x--listen stay, as --listening does.")]
    [InlineData("-- and --- and --nope stay, and (--")]
    [InlineData("Nothing is there.")]
    [InlineData("")]
    public void What_is_no_option_of_the_sentence_stays(string message) =>
        Assert.Equal(message, new OptionNames(Read("""{ "listen": 1 }""", [], [])).In(message));

    [Fact]
    public async Task A_log_line_has_the_names_of_the_file()
    {
        await using ConfiguredServer server = await ConfiguredServer.StartAsync("""{ "spa": "/none.html", "listen": "127.0.0.1:0" }""");

        Assert.Contains("has no page /none.html, which spa names", await server.StopAsync(), StringComparison.Ordinal);
    }

    private static ServeOptions Read(string text, Setting[] flags, Dictionary<string, string> variables)
    {
        var errors = new List<OptionError>();
        FileSettings file = text.Length == 0 ? FileSettings.Empty : ConfigurationFile.Read(new FileText("/m.json", Encoding.UTF8.GetBytes(text)), errors);
        SettingSet environment = VariableSettings.Read(variables, errors);
        return ServerConfiguration.Merge(new SettingSet(flags), environment, file, errors);
    }
}
