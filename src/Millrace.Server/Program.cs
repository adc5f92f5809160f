using System.CommandLine;
using Millrace.Server;
using Millrace.Server.Configuration;
using Millrace.Server.Terminal;

// '@name' is a folder, not a response file. Errors are printed in one line, without a page of help.
string[] arguments = OptionFlags.Complete(args);

// The parser treats a first argument that ends in the program's name as that name: the name is added, so that '/srv/millrace' is a folder.
RootCommand command = ServeCommand.Create();
ParseResult parsed = command.Parse([command.Name, .. arguments], new ParserConfiguration { ResponseFileTokenReplacer = null });
if (parsed.Errors.Count > 0)
{
    // The last error: for a mistyped option the first one is about its unused value.
    return ErrorLine.Print($"{parsed.Errors[^1].Message} Try 'millrace --help'.", ExitCode.Usage);
}

// The server handles its own signals: it drains.
return await parsed.InvokeAsync(new InvocationConfiguration { ProcessTerminationTimeout = null, EnableDefaultExceptionHandler = false });
