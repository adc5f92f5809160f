using System.CommandLine;
using System.Text.RegularExpressions;
using Millrace.Server.Configuration;
using Millrace.Server.Terminal;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Terminal;

public partial class HelpTests
{
    private const int OptionsMost = 22;

    private static RootCommand Root { get; } = MillraceCommand.Create();

    [Theory]
    [InlineData(false, 100)]
    [InlineData(true, 100)]
    [InlineData(false, 80)]
    [InlineData(true, 72)]
    public void Lines_fit_the_columns(bool isFull, int columns)
    {
        foreach (Command command in Root.Subcommands.Prepend(Root))
        {
            string[] lines = HelpPage.Text(command, isFull, columns).Split('\n');
            Assert.All(lines.Where(static line => !line.Contains("  millrace ", StringComparison.Ordinal)), line =>
                Assert.True(line.Length <= columns && line == line.TrimEnd(), line));
            Assert.All(lines, static line => Assert.InRange(line.Length, 0, 80 + 20));
        }
    }

    [Fact]
    public void The_short_page_has_the_common_options_and_fits_a_screen()
    {
        string page = HelpPage.Text(Root, isFull: false, 100);

        Assert.InRange(FlagLine().Count(page), 15, OptionsMost);
        Assert.InRange(page.Count(static letter => letter == '\n'), 20, 75);
        Assert.All(
            (string[])["ROOT", "-l, --listen ADDR", "-p, --port N", "--https [ADDR]", "--cert FILE", "--spa[=PATH]", "--config FILE", "--help-all"],
            words => Assert.Contains(words, page, StringComparison.Ordinal));
    }

    [Fact]
    public void The_full_page_has_every_option_and_command()
    {
        string page = HelpPage.Text(Root, isFull: true, 100);

        Assert.All(OptionTable.All, option => Assert.Matches($@"(?m)^  (-\w, )?{Regex.Escape(option.Argument is null ? option.Flag : "")}", page));
        Assert.All(Root.Options, option => Assert.Single(Regex.Matches(page, $@"(?m)^  (-\w, )?{option.Name}([ \[]|$)")));
        Assert.All(Root.Subcommands, command => Assert.Matches($@"(?m)^  {command.Name} +[A-Z]", page));
        Assert.All(OptionSection.All, section => Assert.Contains($"\n{section.Title}:\n", page, StringComparison.Ordinal));
    }

    [Fact]
    public void The_examples_are_valid()
    {
        string page = HelpPage.Text(Root, isFull: false, 100);
        Match[] examples = [.. Example().Matches(page[page.IndexOf("Examples:", StringComparison.Ordinal)..]).Cast<Match>()];

        Assert.InRange(examples.Length, 5, 10);
        Assert.All(examples, static example =>
        {
            string[] arguments = example.Groups["arguments"].Value.Split(' ', StringSplitOptions.RemoveEmptyEntries);
            Assert.Empty(CommandLineError.Describe(MillraceCommand.Parse(arguments), arguments));
        });
    }

    [Theory]
    [InlineData("Usage:\n  millrace check [FILE] [OPTION]...\n", "check", "--help")]
    [InlineData("Usage:\n  millrace check [FILE] [OPTION]...\n", "help", "check")]
    [InlineData("Usage:\n  millrace probe URL [OPTION]...\n", "probe", "-h")]
    [InlineData("--timeout SECONDS", "help", "probe")]
    [InlineData("'millrace --help-all' lists them", "doctor", "-?")]
    [InlineData("Commands:\n", "--help")]
    [InlineData("Commands:\n", "help")]
    [InlineData("Commands:\n", "serve", "--help")]
    [InlineData("--completions-per-turn", "serve", "--help-all")]
    [InlineData("--completions-per-turn", "--help-all")]
    [InlineData("--completions-per-turn", "--help-all", "--nope")]
    [InlineData("--completions-per-turn", "--help=all")]
    [InlineData("\n  --proxy PATH[!] TARGET... [host=upstream]\n", "--help")]
    [InlineData("\n  --version                   Print the version.\n", "--help")]
    [InlineData("\n  -h, --help                  Show this help.\n", "check", "--help")]
    public async Task Help_is_a_word_and_a_flag(string words, params string[] arguments)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, arguments);

        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        Assert.Contains(words, result.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("version")]
    [InlineData("--version")]
    [InlineData("serve", "--version")]
    public async Task Version_is_a_word_and_a_flag(params string[] arguments)
    {
        ToolResult result = await Tool.RunAsync(Publication.Program, arguments);

        Assert.Equal((0, ""), (result.ExitCode, result.Error));
        Assert.Matches(@"^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?\n$", result.Output);
    }

    [Fact]
    public async Task Serve_is_a_word_and_a_port_is_of_this_machine()
    {
        await using ServerProcess server = await ServerProcess.StartAsync("serve", Places.SampleSite, "-p", "0");
        Assert.StartsWith("http://127.0.0.1:", server.Addresses[0], StringComparison.Ordinal);
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);
    }

    [Theory]
    [InlineData(":0", @"^Listening on http://localhost:[1-9]\d*/ \(all interfaces\)$")]
    [InlineData("localhost:0", @"^Listening on http://127\.0\.0\.1:[1-9]\d*/$")]
    public async Task An_address_has_common_forms(string address, string expected)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", address);
        Assert.Matches(expected, server.Lines[0]);
    }

    [Fact]
    public async Task The_page_of_a_single_page_application_may_follow_a_space()
    {
        await using ServerProcess server =
            await ServerProcess.StartAsync("--spa", "/index.html", Places.SampleSite, "--listen", "127.0.0.1:0");
        Assert.Equal(200, Wire.Get(server.Url, "/no/such/page").Status);
    }

    [GeneratedRegex(@"(?m)^  (-\w, )?--\S")]
    private static partial Regex FlagLine();

    [GeneratedRegex(@"(?m)^  millrace(?<arguments>( \S+)*)( {2,}\S.*)?$")]
    private static partial Regex Example();
}
