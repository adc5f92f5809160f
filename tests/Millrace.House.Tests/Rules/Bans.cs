namespace Millrace.House.Tests.Rules;

/// <summary>The table of what code must not contain. Patterns see code only: no comments, no contents of strings.</summary>
internal static class Bans
{
    public static readonly Ban[] All =
    [
        new("P/Invoke", Scope.SourceButBindings, @"\b(LibraryImport|DllImport)(Attribute)?\b",
            "the kernel is called through Millrace.Interop, OpenSSL through Millrace.Tls",
            "[LibraryImport(\"libc\")] internal static partial int close(int fd);"),
        new("Console", Scope.SourceButServer, @"\bConsole\s*\.",
            "a library logs through ILogger; only the command line owns a terminal",
            "Console.Error.WriteLine(message);"),
        new("Task.Run", Scope.Engine, @"\bTask\s*\.\s*Run\b",
            "work stays on its reactor, or is posted to another",
            "_ = Task.Run(Accept);"),
        new("lock", Scope.Engine, @"\block\s*\(|\bMonitor\s*\.\s*(Try)?Enter\b",
            "what a reactor owns is touched by its thread only; others post",
            "lock (_gate) { Close(); }"),
        new("Thread.Sleep", Scope.Engine, @"\bThread\s*\.\s*Sleep\b",
            "a sleeping reactor serves nobody; deadlines are timers",
            "Thread.Sleep(10);"),
        new("wall clock", Scope.Engine, @"\bDateTime(Offset)?\s*\.\s*(Utc)?Now\b",
            "deadlines use the monotonic clock, read once per turn",
            "long startedAt = DateTime.Now.Ticks;"),
        new("async void", Scope.Source, @"\basync\s+void\b",
            "nobody can await it, and its exception ends the process",
            "private async void OnReadable() => await ReadAsync();"),
        new("NotImplementedException", Scope.Source, @"\bNotImplementedException\b",
            "finish it, or leave it out",
            "public void Close() => throw new NotImplementedException();"),
        new("catch of everything, empty", Scope.Source,
            @"\bcatch\s*(\(\s*(System\s*\.\s*)?Exception\b[^)]*\)\s*)?\{\s*\}",
            "an exception nobody expected is swallowed",
            "try { Close(); } catch (Exception) { /* not important */ }"),
        new("test skipped by attribute", Scope.Tests, @"\bSkip(When|Unless|Type|Exceptions)?\s*=(?!=)",
            "only a missing tool skips a test, at run time, with its reason: Assert.SkipUnless",
            "[Fact(Skip = \"flaky\")] public void A_request_is_answered() => Send();"),
        new("explicit test", Scope.Tests, @"\bExplicit\s*=\s*true\b",
            "./test would never run it; a long one has [Trait(\"Duration\", \"Long\")]",
            "[Fact(Explicit = true)] public void A_request_is_answered() => Send();"),
    ];
}
