using Millrace.DocGenerator.CommandLine;
using Millrace.Server.Configuration;

namespace Millrace.Server.Tests.Completions;

/// <summary>What each shell completes, asked of the shell itself, for all of the table and all commands.</summary>
public abstract class ShellTests
{
    private static CommandModel[] Commands => [.. Shell.Outline.All];

    private static FlagModel[] Valued => [.. Shell.Outline.SharedFlags().Select(static shared => shared.Flag).Where(static flag => flag.Value is not null)];

    private static string[] Paths => [.. Shell.Files, .. Shell.Folders];

    [Fact]
    public async Task Every_command_offers_its_flags_and_no_others()
    {
        using Shell shell = Open();
        string[][] offers = await shell.OffersAsync([.. Commands.Select(static command => $"{Line(command)}--")]);
        Assert.All(Commands.Zip(offers), static asked => AssertSame(asked.First.Flags.Select(static flag => flag.Name), asked.Second));
    }

    [Fact]
    public async Task Commands_are_the_first_word_or_a_folder_is()
    {
        using Shell shell = Open();
        string[] names = [.. Shell.Outline.Commands.Select(static command => command.Name)];
        string[][] offers = await shell.OffersAsync(
            ["millrace ", "millrace ch", "millrace --backend auto ", "millrace site ch", "millrace check ch", "/usr/bin/millrace ch", "millrace my"]);
        AssertSame(names.Concat(Shell.Folders), offers[0]);
        Assert.Equal(["check"], offers[1]);
        AssertSame(Shell.Folders, offers[2]);
        Assert.Empty(offers[3]);
        Assert.Empty(offers[4]);
        Assert.Equal(["check"], offers[5]);
        Assert.Equal(["my dir"], offers[6]);
    }

    [Fact]
    public async Task A_command_offers_what_it_takes()
    {
        using Shell shell = Open();
        CommandModel[] commands = [.. Shell.Outline.Commands];
        string[][] offers = await shell.OffersAsync([.. commands.Select(static command => Line(command)), "millrace doctor --json ", "millrace check b"]);

        // zsh offers flags where there is nothing else.
        Assert.All(commands.Zip(offers), static asked =>
            AssertSame(asked.First.Argument is { } argument ? Expected(argument.Value) : [], asked.Second.Where(static word => word[0] != '-')));
        AssertSame(Shell.Folders, offers[^2]);
        Assert.Equal(["b c.json"], offers[^1]);
    }

    /// <summary>Its choices, paths where it is one, and nothing where it is free text; after '=' and after a space.</summary>
    [Fact]
    public async Task The_value_of_every_flag_is_completed()
    {
        using Shell shell = Open();
        string[][] attached = await shell.OffersAsync([.. Valued.Select(static flag => $"{LineOf(flag)} {flag.Name}=")]);
        Assert.All(Valued.Zip(attached), static asked => AssertSame(Expected(asked.First.Value!), asked.Second, asked.First.Name));
        string[][] spaced = await shell.OffersAsync([.. Valued.Select(static flag => $"{LineOf(flag)} {flag.Name} ")]);
        Assert.All(Valued.Zip(spaced), static asked =>
        {
            // One that may stand alone may be followed by the folder to serve.
            ValueModel value = asked.First.Value!;
            string[] expected = value.Place switch
            {
                ValuePlace.Needed => Expected(value),
                ValuePlace.MayFollow => [.. Expected(value), .. Shell.Folders],
                _ => Shell.Folders,
            };
            AssertSame(expected, asked.Second, asked.First.Name);
        });
    }

    [Fact]
    public async Task Choices_are_narrowed_by_what_is_written()
    {
        using Shell shell = Open();
        string[][] offers = await shell.OffersAsync(["millrace --backend e", "millrace --backend=e", "millrace check --watch=re", "millrace --compress o"]);
        Assert.Equal(["epoll"], offers[0]);
        Assert.Equal(["epoll"], offers[1]);
        Assert.Equal(["revalidate"], offers[2]);
        AssertSame(["on", "off"], offers[3]);
    }

    [Fact]
    public async Task A_flag_is_offered_again_only_if_it_may_be_repeated()
    {
        using Shell shell = Open();
        FlagModel[] flags = [.. Shell.Outline.Flags];
        string[][] attached = await shell.OffersAsync([.. flags.Select(static flag => $"{Reported(flag, '=')} {flag.Name}")]);
        Assert.All(flags.Zip(attached), static asked => Assert.True(asked.Second.Contains(asked.First.Name) == asked.First.IsRepeatable, asked.First.Name));
        string[][] spaced = await shell.OffersAsync([.. flags.Select(static flag => $"{Reported(flag, ' ')} {flag.Name}")]);
        Assert.All(flags.Zip(spaced), static asked => Assert.True(asked.Second.Contains(asked.First.Name) == asked.First.IsRepeatable, asked.First.Name));
    }

    [Fact]
    public async Task A_host_s_folder_is_offered_behind_its_name()
    {
        using Shell shell = Open();
        string[][] offers = await shell.OffersAsync(
            ["millrace --host a.example=", "millrace --host a.example=s", "millrace --host=a.example=s", "millrace --host '*.example=s"]);
        AssertSame(Shell.Folders, offers[0]);
        Assert.Equal(["site"], offers[1]);
        Assert.Equal(["site"], offers[2]);
        Assert.Equal(["site"], offers[3]);
    }

    /// <summary>As it is written, colons and quotes are in words, and cut none.</summary>
    [Fact]
    public async Task What_stands_before_the_cursor_is_read_as_words()
    {
        using Shell shell = Open();
        string[][] offers = await shell.OffersAsync(
        [
            "millrace --header 'X-A: b' --head",
            "millrace --listen 127.0.0.1:80 --list",
            "millrace --listen=[::1]:80 --list",
            "millrace my\\ dir --list",
            "millrace --cert it",
            "millrace -- --list",
            "millrace -l 80 --li",
        ]);
        AssertSame(["--header", "--head-max", "--head-timeout"], offers[0]);
        Assert.All(offers[1..4], static words => AssertSame(["--listen", "--listing"], words));
        Assert.Equal(["it's [x]:y.pem"], offers[4]);
        Assert.Empty(offers[5]);
        AssertSame(["--listen", "--listing"], offers[6]);
    }

    internal abstract Shell Open();

    private static string Line(CommandModel command) => command.Name.Length > 0 ? $"millrace {command.Name} " : "millrace ";

    /// <summary>A command that has the flag.</summary>
    private static string LineOf(FlagModel flag) => Line(Commands.First(command => command.Flags.Contains(flag))).TrimEnd();

    private static string Reported(FlagModel flag, char separator) => flag.Value switch
    {
        null => $"millrace {flag.Name}",
        { Place: ValuePlace.Attached } => $"millrace {flag.Name}=x",
        { Choices: [.., string last] } => $"millrace {flag.Name}{separator}{last}",
        _ => $"millrace {flag.Name}{separator}1",
    };

    private static string[] Expected(ValueModel value) => value.Paths switch
    {
        ValuePaths.Files => [.. value.Choices, .. Paths],
        ValuePaths.Folders => [.. value.Choices, .. Shell.Folders],
        _ => [.. value.Choices],
    };

    private static void AssertSame(IEnumerable<string> expected, IEnumerable<string> actual, string subject = "")
    {
        string[] wanted = [.. expected.Order(StringComparer.Ordinal)];
        string[] offered = [.. actual.Order(StringComparer.Ordinal)];
        Assert.True(wanted.SequenceEqual(offered), $"{subject}: '{string.Join("', '", offered)}' instead of '{string.Join("', '", wanted)}'.");
    }
}
