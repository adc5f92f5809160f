using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;

namespace Millrace.Interop.Tests.Abi;

/// <summary>Asks this machine's headers, by a C program compiled here. Rows whose name is younger than the headers stay unanswered.</summary>
internal static class KernelHeaders
{
    private static readonly string[] Includes =
    [
        "#define _GNU_SOURCE",
        "#include <errno.h>",
        "#include <fcntl.h>",
        "#include <limits.h>",
        "#include <linux/bpf.h>",
        "#include <linux/filter.h>",
        "#include <linux/gfs2_ondisk.h>",
        "#include <linux/io_uring.h>",
        "#include <linux/magic.h>",
        "#include <linux/seccomp.h>",
        "#include <linux/sock_diag.h>",
        "#include <linux/tcp.h>",
        "#include <linux/time_types.h>",
        "#include <linux/udp.h>",
        "#include <linux/version.h>",
        "#include <netinet/in.h>",
        "#include <poll.h>",
        "#include <stddef.h>",
        "#include <stdio.h>",
        "#include <sys/epoll.h>",
        "#include <sys/inotify.h>",
        "#include <sys/mman.h>",
        "#include <sys/socket.h>",
        "#include <sys/syscall.h>",
        "#include <sys/uio.h>",
        "#include <sys/vfs.h>",
    ];

    /// <summary>What the headers say of each row that they know; null where there is no compiler or a header is missing.</summary>
    public static async Task<IReadOnlyDictionary<AbiEntry, long>?> AskAsync(IReadOnlyList<AbiEntry> entries)
    {
        DirectoryInfo directory = Directory.CreateTempSubdirectory("millrace-abi-");
        try
        {
            string source = Path.Combine(directory.FullName, "abi.c");
            string program = Path.Combine(directory.FullName, "abi");
            await File.WriteAllLinesAsync(source, Includes);
            // Only the includes first: what fails here is the machine's, what fails below is an error of the table.
            if (await RunAsync("gcc", "-fsyntax-only", source) is not { ExitCode: 0 })
            {
                return null;
            }

            await File.WriteAllLinesAsync(source, [.. Includes, "int main(void) {", .. entries.SelectMany(Print), "return 0; }"]);
            await RunOrFailAsync("gcc", "-o", program, source);
            string printed = await RunOrFailAsync(program);
            return printed.Split('\n', StringSplitOptions.RemoveEmptyEntries)
                .Select(line => Array.ConvertAll(line.Split(' '), word => long.Parse(word, CultureInfo.InvariantCulture)))
                .ToDictionary(words => entries[(int)words[0]], words => words[1]);
        }
        finally
        {
            directory.Delete(recursive: true);
        }
    }

    private static IEnumerable<string> Print(AbiEntry entry, int index)
    {
        Version since = entry.Since ?? new Version(0, 0);
        yield return $"#if LINUX_VERSION_CODE >= KERNEL_VERSION({since.Major}, {since.Minor}, 0)";
        yield return $"printf(\"{index} %lld\\n\", (long long)({entry.C}));";
        yield return "#endif";
    }

    private static async Task<string> RunOrFailAsync(string program, params string[] arguments)
    {
        (int exitCode, string output, string errors) = await RunAsync(program, arguments) ?? throw new FileNotFoundException(program);
        Assert.True(exitCode == 0, errors);
        return output;
    }

    private static async Task<(int ExitCode, string Output, string Errors)?> RunAsync(string program, params string[] arguments)
    {
        try
        {
            var start = new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
            using Process process = Process.Start(start)!;
            Task<string> errors = process.StandardError.ReadToEndAsync();
            string output = await process.StandardOutput.ReadToEndAsync();
            await process.WaitForExitAsync();
            return (process.ExitCode, output, await errors);
        }
        catch (Win32Exception missing) when (missing.NativeErrorCode == Errno.ENOENT)
        {
            return null;
        }
    }
}
