using Millrace.Server.Terminal;

namespace Millrace.Server.Tests.Terminal;

/// <summary>What is said about a command line that cannot be parsed.</summary>
public class CommandLineErrorTests
{
    private const string All = "'millrace --help-all' lists all options.";

    [Theory]
    [InlineData("'--lisen' is not an option. Did you mean '--listen'?", "--lisen", "8080")]
    [InlineData("'--lisen' is not an option. Did you mean '--listen'?", "--lisen=8080")]
    [InlineData("'--lisen' is not an option. Did you mean '--listen'?", "./public", "--lisen", "8080")]
    [InlineData("'--Listen' is not an option. Did you mean '--listen'?", "--Listen", "8080")]
    [InlineData("'--cors-origin' is not an option. " + All, "--cors-origin", "*")]
    [InlineData("'-x' is not an option. " + All, "-x")]
    [InlineData("'-listen' needs two dashes: write --listen.", "-listen", "8080")]
    [InlineData("'-port' needs two dashes: write --port=80.", "-port=80")]
    [InlineData("'--bind' is not an option. Did you mean '--listen'?", "--bind", "0.0.0.0")]
    [InlineData("'--ssl-cert' is not an option. Did you mean '--cert'?", "--ssl-cert", "a.pem")]
    [InlineData("'--root' is not an option. Write the folder without a flag: millrace DIR.", "--root", "./public")]
    [InlineData("'--dir' is not an option. Write the folder without a flag: millrace doctor DIR.", "doctor", "--dir", "./public")]
    [InlineData("'--jsn' is not an option. Did you mean '--json'?", "doctor", "--jsn")]
    [InlineData("'--force' is not an option. 'millrace init --help' shows what it takes.", "init", "--force")]
    [InlineData("'--listen' is not an option. 'millrace init --help' shows what it takes.", "init", "--listen", "80")]
    [InlineData("--listen needs a value: write --listen ADDR.", "--listen")]
    [InlineData("--listen needs a value: write --listen ADDR.", "--listen", "--spa")]
    [InlineData("--port needs a value: write --port N.", "-p")]
    [InlineData("--config needs a value: write --config FILE.", "check", "--config")]
    [InlineData("--port: '70000' is not a port. Use a number from 0 to 65535, or --listen for an address.", "-p", "70000")]
    [InlineData("--port: 'localhost:80' is not a port. Use a number from 0 to 65535, or --listen for an address.", "--port", "localhost:80")]
    [InlineData("--reactors is given twice: write it once.", "--reactors", "1", "--reactors", "2")]
    [InlineData("--port is given twice: write it once.", "-p", "1", "--port", "2")]
    [InlineData("Unexpected argument 'two'. Quote paths that contain spaces; " + All, ".", "two")]
    [InlineData("Unexpected argument 'two'. Quote paths that contain spaces; 'millrace check --help' shows what it takes.", "check", ".", "two")]
    [InlineData("'chek' is neither a folder nor a command. Did you mean 'millrace check'?", "chek")]
    [InlineData("'prob' is neither a folder nor a command. Did you mean 'millrace probe'?", "prob", "http://localhost/")]
    [InlineData("There is no folder '/no/app'. If it is the value of --spa, write --spa=/no/app.", "--spa", "/no/app")]
    [InlineData("There is no folder 'example.org', and it is not a value of --cors: write --cors=ORIGIN,....", "--cors", "example.org")]
    [InlineData("There is no folder 'yes', and --listing takes on or off.", "serve", "--listing", "yes")]
    [InlineData("There is no folder '/tm'. Did you mean '/tmp'?", "/tm")]
    [InlineData("Unexpected argument 'extra': 'millrace schema' takes none.", "schema", "extra")]
    [InlineData("Unexpected second folder '/tmp'. Serve it for a host of its own: --host example.org=/tmp.", "/", "/tmp")]
    [InlineData("Unexpected argument '/tmp'. Quote paths that contain spaces; 'millrace precompress --help' shows what it takes.", "precompress", "/", "/tmp")]
    [InlineData("'https://localhost/' cannot be probed without --http3, as it is https: add it, or probe the admin pages (--admin), such as http://127.0.0.1:9180/readyz.", "probe", "https://localhost/")]
    [InlineData("'http://localhost/' cannot be probed over HTTP/3: use an https URL.", "probe", "--http3=on", "http://localhost/")]
    [InlineData("'millrace probe' needs URL: the URL to request, such as http://127.0.0.1:8080/; with --http3 an https URL.", "probe")]
    [InlineData("'millrace precompress' needs DIR: the folder, including all its subfolders.", "precompress")]
    [InlineData("'millrace completions' needs SHELL: the shell, one of bash, zsh, fish.", "completions")]
    [InlineData("'csh' is not a supported shell: use bash, zsh or fish.", "completions", "csh")]
    [InlineData("'localhost' cannot be probed: use a URL such as http://127.0.0.1:8080/ (https only with --http3).", "probe", "localhost")]
    [InlineData("--timeout: 'soon' is not valid: use a number of seconds from 1 to 3600.", "probe", "http://localhost/", "--timeout", "soon")]
    [InlineData("--timeout: '0' is not valid: use a number of seconds from 1 to 3600.", "probe", "http://localhost/", "--timeout", "0")]
    public void A_wrong_line_is_answered_with_its_cause_and_what_to_write(string expected, params string[] arguments) =>
        Assert.Equal([expected], CommandLineError.Describe(MillraceCommand.Parse(arguments), arguments));

    [Fact]
    public void All_flags_that_do_not_exist_are_named()
    {
        string[] arguments = ["--lisen", "8080", "-port=80", "--nope", "--nope"];
        Assert.Equal(
            [
                "'--lisen' is not an option. Did you mean '--listen'?",
                "'-port' needs two dashes: write --port=80.",
                "'--nope' is not an option. " + All,
            ],
            CommandLineError.Describe(MillraceCommand.Parse(arguments), arguments));
    }

    [Theory]
    [InlineData]
    [InlineData(".")]
    [InlineData("serve", ".", "-p8080")]
    [InlineData(".", "-l8080")]
    [InlineData("--", "-folder")]
    [InlineData("--drain", "-1")]
    [InlineData("no-such-folder")]
    [InlineData("--header", "-x: y")]
    [InlineData("--spa", "/app.html", ".")]
    [InlineData("--spa", ".")]
    [InlineData("--https", ":8443", ".")]
    [InlineData("probe", "http://localhost/", "--timeout", "5")]
    [InlineData("help", "probe")]
    public void Others_are_left_to_the_checks_of_values(params string[] arguments) =>
        Assert.Empty(CommandLineError.Describe(MillraceCommand.Parse(arguments), arguments));
}
