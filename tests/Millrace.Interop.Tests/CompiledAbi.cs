using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace Millrace.Interop.Tests;

/// <summary>What the C compiler of this machine says about the ABI; nothing where there is no compiler or no header.</summary>
internal static class CompiledAbi
{
    private const string Headers = """
        #define _GNU_SOURCE
        #include <stddef.h>
        #include <stdio.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <sys/eventfd.h>
        #include <sys/ioctl.h>
        #include <sys/mman.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <sys/uio.h>
        #include <netinet/in.h>
        #include <linux/io_uring.h>
        #include <linux/sockios.h>
        #include <linux/tcp.h>
        #include <linux/time_types.h>
        #ifndef SIOCOUTQ
        #define SIOCOUTQ TIOCOUTQ
        #endif
        """;

    /// <summary>Whether there is a compiler and every header; decided apart from the program, whose errors are failures.</summary>
    public static bool IsAvailable { get; } = TryRun("gcc", ["-x", "c", "-fsyntax-only", "-"], Headers, out _);

    /// <summary>The values of C expressions, without those that this machine's headers do not have.</summary>
    public static Dictionary<string, long> Evaluate(IEnumerable<AbiEntry> entries)
    {
        var program = new StringBuilder(Headers).Append("\nint main(void) {\n");
        foreach (AbiEntry entry in entries)
        {
            string print = $"printf(\"{entry.Member} %lld\\n\", (long long)({entry.C}));\n";
            program.Append(entry.MayBeMissing ? $"#ifdef {entry.C}\n{print}#endif\n" : print);
        }

        program.Append("return 0; }\n");
        string binary = Path.Combine(Path.GetTempPath(), $"millrace-abi-{Environment.ProcessId}-{Guid.NewGuid():N}");
        try
        {
            Assert.True(TryRun("gcc", ["-x", "c", "-o", binary, "-"], program.ToString(), out string errors), errors);
            Assert.True(TryRun(binary, [], "", out string output), output);
            return output.Split('\n', StringSplitOptions.RemoveEmptyEntries)
                .Select(static line => line.Split(' '))
                .ToDictionary(static pair => pair[0], static pair => long.Parse(pair[1], CultureInfo.InvariantCulture));
        }
        finally
        {
            File.Delete(binary);
        }
    }

    private static bool TryRun(string program, string[] arguments, string input, out string output)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        try
        {
            using Process process = Process.Start(start)!;
            Task<string> errors = process.StandardError.ReadToEndAsync();
            process.StandardInput.Write(input);
            process.StandardInput.Close();
            output = process.StandardOutput.ReadToEnd();
            process.WaitForExit();
            output += errors.GetAwaiter().GetResult();
            return process.ExitCode == 0;
        }
        catch (System.ComponentModel.Win32Exception missing)
        {
            output = missing.Message;
            return false;
        }
    }
}
