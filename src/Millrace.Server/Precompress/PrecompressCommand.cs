using System.CommandLine;
using Millrace.Server.Terminal;

namespace Millrace.Server.Precompress;

/// <summary><c>millrace precompress DIR [--prune]</c>: writes compressed files next to their originals, for a server to serve.</summary>
internal static class PrecompressCommand
{
    public static Command Create()
    {
        var directory = new Argument<string>("DIR") { Description = "The folder, including all its subfolders." };
        directory.Validators.Add(ServeCommand.RefuseOption);
        var prune = new Option<bool>("--prune")
        {
            Description =
                "Remove compressed files whose original no longer exists: a .br of a compressible type, and a .gz next to such a .br.",
        };
        const string Help = "Writes compressed .br and .gz files next to the originals where they are missing or outdated and smaller.";
        var command = new Command("precompress", Help) { directory, prune };
        command.SetAction(async (parsed, _) => await RunAsync(parsed.GetValue(directory)!, parsed.GetValue(prune)));
        return command;
    }

    private static async Task<int> RunAsync(string directory, bool prunes)
    {
        if (!Directory.Exists(directory))
        {
            return ErrorLine.Print($"'{directory}' is not a folder: name the folder that is served.", ExitCode.Usage);
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
            return ErrorLine.Print("stopped; all files written so far are complete.", ExitCode.Refused);
        }

        string[] failures = [.. prunes ? Remove(tree.Orphans) : [], .. tree.Failures, .. totals.Failures];
        foreach (string failure in failures)
        {
            ErrorLine.Print(failure);
        }

        Console.WriteLine(totals.Summary);
        return failures.Length == 0 ? ExitCode.Done : ExitCode.Refused;
    }

    /// <summary>Removes files, and returns messages about failures.</summary>
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
