using System.CommandLine;
using Millrace.Server;

// '@name' is a folder, not a file of further arguments. What cannot be meant is answered in one line, not with a page of help.
ParseResult parsed = ServeCommand.Create().Parse(SiteFlags.Complete(args), new ParserConfiguration { ResponseFileTokenReplacer = null });
if (parsed.Errors.Count > 0)
{
    // The last: the first of a mistyped option is about its value, which nobody takes.
    Console.Error.WriteLine($"millrace: {parsed.Errors[^1].Message} Try 'millrace --help'.");
    return ExitCode.Usage;
}

// The server sees to its own signals: it drains.
return await parsed.InvokeAsync(new InvocationConfiguration { ProcessTerminationTimeout = null, EnableDefaultExceptionHandler = false });
