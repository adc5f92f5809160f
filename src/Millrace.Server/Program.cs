using System.CommandLine;
using Millrace.Server;

// What the command line cannot mean is answered in one line, not with a page of help.
ParseResult parsed = ServeCommand.Create().Parse(args);
if (parsed.Errors.Count > 0)
{
    Console.Error.WriteLine($"millrace: {parsed.Errors[0].Message} Try 'millrace --help'.");
    return ExitCode.Usage;
}

// The server sees to its own signals: it drains.
return await parsed.InvokeAsync(new InvocationConfiguration { ProcessTerminationTimeout = null, EnableDefaultExceptionHandler = false });
