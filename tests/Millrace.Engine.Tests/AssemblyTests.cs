namespace Millrace.Engine.Tests;

public class AssemblyTests
{
    [Fact]
    public void Test_assembly_loads() => Assert.NotNull(typeof(AssemblyTests).Assembly.FullName);
}
