using System.CommandLine;
using Millrace.Server.Terminal;

namespace Millrace.Server.Precompress;

/// <summary><c>millrace precompress DIR [--prune]</c>: writes coded files beside those they are made of, for a server to find.</summary>
internal static class PrecompressCommand
{
    public static Command Create()
    {
        var directory = new Argument<string>("DIR") { Description = "The folder, with all below it." };
        directory.Validators.Add(ServeCommand.RefuseOption);
        var prune = new Option<bool>("--prune")
        {
            Description = "Remove coded files whose original is gone: a .br of a type that is compressed, and a .gz beside such a .br.",
        };
        const string Help = "Writes .br and .gz files beside those that get smaller, where they are missing or older.";
        var command = new Command("precompress", Help) { directory, prune };
        command.SetAction(async (parsed, _) => await RunAsync(parsed.GetValue(directory)!, parsed.GetValue(prune)));
        return command;
    }

    private static async Task<int> RunAsync(string directory, bool prunes)
    {
        if (!Directory.Exists(directory))
        {
            return ErrorLine.Print($"'{directory}' is no folder: give the one that is served.", ExitCode.Usage);
        }

        using var stop = new StopSignal();
        using var stopping = new CancellationTokenSource();
        Task cancelling = stop.Requested.ContinueWith(_ => stopping.Cancel(), TaskScheduler.Default);
        CodedTree tree = CodedTree.Walk(directory);
        using var progress = new ProgressLine("Compressing", tree.Originals.Count);
        PrecompressTotals totals = await new Precompression(progress, stopping.Token).RunAsync(tree.Originals);
        progress.Dispose();
        if (stopping.IsCancellationRequested)
        {
            await cancelling;
            return ErrorLine.Print("stopped; what was written so far is whole.", ExitCode.Refused);
        }

        string[] failures = [.. prunes ? Remove(tree.Orphans) : [], .. tree.Failures, .. totals.Failures];
        foreach (string failure in failures)
        {
            ErrorLine.Print(failure);
        }

        Console.WriteLine(totals.Summary);
        return failures.Length == 0 ? ExitCode.Done : ExitCode.Refused;
    }

    /// <summary>What could not be removed, for people.</summary>
    private static IEnumerable<string> Remove(IEnumerable<string> orphans)
    {
        foreach (string orphan in orphans)
        {
            string? failure = null;
            try
            {
                File.Delete(orphan);
                Console.WriteLine($"Removed {orphan}");
            }
            catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException)
            {
                failure = $"'{orphan}' cannot be removed: {refusal.Message}";
            }

            if (failure is not null)
            {
                yield return failure;
            }
        }
    }
}
