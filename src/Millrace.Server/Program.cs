using Millrace.Server;

return await MillraceCommand.RunAsync(args);
