using System.Globalization;
using Millrace.Idle;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
if (IdleOptions.Parse(args) is not { } options)
{
    Console.Error.Write(IdleOptions.Usage);
    return 2;
}

string root = Path.Combine(Path.GetFullPath(options.Folder), $"idle-{Environment.ProcessId}");
Directory.CreateDirectory(root);
try
{
    File.WriteAllBytes(Path.Combine(root, "normal.bin"), new byte[10_240]);
    File.WriteAllBytes(Path.Combine(root, "large.bin"), new byte[1024 * 1024]);
    FullCollection.Prove();
    bool isGood = IdleMemory.Measure(options, root);
    isGood &= SlowCrowd.Measure("readers of 1 KB/s", options, root, static port => new SlowReader(port));
    isGood &= SlowCrowd.Measure("senders of a byte of a head per second", options, root, static port => new SlowSender(port));
    return isGood ? 0 : 1;
}
finally
{
    Directory.Delete(root, recursive: true);
}
