using System.CommandLine;
using Millrace.Server;
using Millrace.Server.Options.Settings;
using Millrace.Server.Terminal;

// '@name' is a folder, not a file of further arguments. What cannot be meant is answered in one line, not with a page of help.
string[] arguments = BareFlag.Complete(args, [.. OptionFlags.Bare]);

// The parser takes a first argument that ends in the program's name for that name: it gets it, so that '/srv/millrace' is a folder.
RootCommand command = ServeCommand.Create();
ParseResult parsed = command.Parse([command.Name, .. arguments], new ParserConfiguration { ResponseFileTokenReplacer = null });
if (parsed.Errors.Count > 0)
{
    // The last: the first of a mistyped option is about its value, which nobody takes.
    return ErrorLine.Print($"{parsed.Errors[^1].Message} Try 'millrace --help'.", ExitCode.Usage);
}

// The server sees to its own signals: it drains.
return await parsed.InvokeAsync(new InvocationConfiguration { ProcessTerminationTimeout = null, EnableDefaultExceptionHandler = false });
